# The computer's image, in two flavours:
#
#   slim  screens, shell, browser: quick to build, for quick starts and tests
#   full  slim and what people work with: languages, office, cloud tools
#
# scripts/docker-image builds it, with image/ as the build context. Plain syntax only
# (no "syntax" line, here-documents, RUN --mount or COPY --link), so that every builder
# takes it, the one of old engines too. Layers that change seldom come first: Debian's
# packages, of both flavours, before any file of this folder. A new daemon is the last one
# and rebuilds in seconds.

# ------------------------------------------------------------------ slim
FROM debian:trixie-slim AS desktop
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
RUN printf '%s\n' 'APT::Install-Recommends "0";' 'APT::Get::Assume-Yes "1";' 'APT::Keep-Downloaded-Packages "0";' \
      'Acquire::Retries "3";' 'Acquire::Languages "none";' > /etc/apt/apt.conf.d/90computer; \
    printf '%s\n' 'path-exclude /usr/share/doc/*' 'path-include /usr/share/doc/*/copyright' 'path-exclude /usr/share/man/*' \
      'path-exclude /usr/share/info/*' 'path-exclude /usr/share/locale/*' 'force-unsafe-io' > /etc/dpkg/dpkg.cfg.d/computer
ENV DEBIAN_FRONTEND=noninteractive
RUN apt-get update; \
    apt-get install \
      bash-completion bzip2 ca-certificates curl file iproute2 iputils-ping jq less libnss3-tools locales lsof nano netcat-openbsd \
      openssh-client procps psmisc ripgrep rsync socat sudo tini tree tzdata unzip vim-tiny wget xz-utils zip \
      fontconfig fonts-dejavu-core fonts-liberation fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji \
      adwaita-icon-theme dbus dbus-x11 desktop-file-utils fluxbox libfile-mimeinfo-perl mousepad pcmanfm shared-mime-info \
      x11-utils x11-xkb-utils x11-xserver-utils xauth xclip xdg-user-dirs xdg-utils xfonts-base xkb-data xsel xterm xvfb \
      chromium; \
    echo 'en_US.UTF-8 UTF-8' > /etc/locale.gen; locale-gen; \
    rm -rf /var/lib/apt/lists/*
ENV LANG=en_US.UTF-8
# A step of its own: the cache is valid for the times of the font folders, and their
# fractions of a second are lost when a layer is stored. Without a valid cache every
# screen takes three seconds more to open.
RUN fc-cache --force --system-only
# Agents' programs run as computer, those of screen n in its group, the X servers as
# xserver, the daemon as root. sudo keeps the marks by which the daemon finds what a
# command has started.
RUN useradd --create-home --uid 1000 --shell /bin/bash computer; \
    for n in $(seq 16); do groupadd --gid $((59910 + n)) "screen$n"; done; \
    useradd --system --uid 901 --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin xserver; \
    printf '%s\n' 'computer ALL=(ALL) NOPASSWD:ALL' 'Defaults env_keep += "COMPUTER_USE_*"' > /etc/sudoers.d/computer; \
    chmod 0440 /etc/sudoers.d/computer; visudo -cq; \
    printf '[global]\nbreak-system-packages = true\n' > /etc/pip.conf; \
    install -d -m 0711 /var/lib/computerd; \
    install -d -m 1777 /tmp/.X11-unix; \
    install -d -o computer -g computer /home/computer/.local /home/computer/.local/bin; \
    echo 'prefix=${HOME}/.local' > /home/computer/.npmrc; \
    printf '%s\n' '*VT100.faceName: monospace' '*VT100.faceSize: 10' > /home/computer/.Xdefaults; \
    chown -R computer:computer /home/computer
WORKDIR /home/computer
# The engine gives its own flags as CMD and labels. Those that are set here serve a
# computer that somebody starts by hand; see image/README.md.
ENTRYPOINT ["/usr/bin/tini", "--", "/usr/local/sbin/computer-start"]
CMD ["--listen", "0.0.0.0:7070", "--viewer-listen", "0.0.0.0:20900", "--port-base", "20900", "--sandbox", "a container"]

FROM desktop AS slim
COPY rootfs/ /
COPY computerd /usr/local/bin/computerd
ARG VERSION=dev
ARG PROTOCOL
LABEL org.opencontainers.image.title="computer-use-mcp computer (slim)" \
      org.opencontainers.image.version="${VERSION}" \
      computer-use.version="${VERSION}" computer-use.protocol="${PROTOCOL}" \
      computer-use.port-base="20900" computer-use.network="internet"

# ------------------------------------------------------------------ full
FROM desktop AS work
RUN apt-get update; \
    apt-get install \
      awscli build-essential fish gh git imagemagick pkg-config python3 python3-dev python3-pip python3-venv ruby \
      fonts-crosextra-caladea fonts-crosextra-carlito libreoffice-calc libreoffice-gtk3 libreoffice-impress libreoffice-writer; \
    rm -rf /var/lib/apt/lists/*
RUN fc-cache --force --system-only

# Node.js 24 is not in Debian 13. The registry's package of its binary is, in the
# architecture's name; Debian's npm fetches it and stays behind in this stage, of which
# nothing but its products is shipped.
FROM work AS fetch
RUN apt-get update; apt-get install npm; rm -rf /var/lib/apt/lists/*
# Certificates of a proxy between the build machine and the registries, if there is
# one (see extra-ca/README).
COPY extra-ca/ /extra-ca/
ARG NODE_VERSION=24.22.3
ARG NPM_VERSION=11.21.2
RUN cat /etc/ssl/certs/ca-certificates.crt $(find /extra-ca -name '*.pem') > /ca.pem; \
    export NODE_EXTRA_CA_CERTS=/ca.pem; \
    case "$(dpkg --print-architecture)" in amd64) arch=x64 ;; arm64) arch=arm64 ;; *) echo "no Node.js for this architecture" >&2; exit 1 ;; esac; \
    mkdir -p /work /node/bin /node/lib/node_modules; cd /work; \
    npm install --no-save --ignore-scripts --no-audit --no-fund "node-linux-$arch@$NODE_VERSION" "npm@$NPM_VERSION"; \
    install -m 0755 "node_modules/node-linux-$arch/bin/node" /node/bin/; \
    mv node_modules/npm /node/lib/node_modules/; \
    ln -s ../lib/node_modules/npm/bin/npm-cli.js /node/bin/npm; \
    ln -s ../lib/node_modules/npm/bin/npx-cli.js /node/bin/npx
COPY tools/ /opt/computer/tools/
RUN export PATH="/node/bin:$PATH" NODE_EXTRA_CA_CERTS=/ca.pem; \
    cd /opt/computer/tools; npm ci --ignore-scripts --omit=dev --no-audit --no-fund
# uv comes from the Python package index alone. Where that cannot be reached,
# --build-arg UV_VERSION= builds an image without it, and with a file that tells image-check
# that this was meant. --target, because Debian's pip makes
# /uv/local of --prefix /uv.
ARG UV_VERSION=0.13.0
RUN if [ -n "$UV_VERSION" ]; then \
      PIP_CERT=/ca.pem pip install --no-cache-dir --no-deps --root-user-action=ignore --target /uv "uv==$UV_VERSION"; \
      /uv/bin/uv --version; \
    else \
      mkdir -p /uv/bin; touch /opt/computer/without-uv; \
    fi

FROM work AS full
COPY --from=fetch /node/ /usr/local/
COPY --from=fetch /opt/computer/ /opt/computer/
COPY --from=fetch /uv/bin/ /usr/local/bin/
RUN ln -s /opt/computer/tools/node_modules/.bin/chrome-devtools-mcp /opt/computer/tools/node_modules/.bin/mcpc /usr/local/bin/
COPY rootfs/ full/ /
COPY computerd /usr/local/bin/computerd
ARG VERSION=dev
ARG PROTOCOL
LABEL org.opencontainers.image.title="computer-use-mcp computer" \
      org.opencontainers.image.version="${VERSION}" \
      computer-use.version="${VERSION}" computer-use.protocol="${PROTOCOL}" \
      computer-use.port-base="20900" computer-use.network="internet"
