# Run by bash -eu as the programs' user: make TEMPLATE COPY, or save TEMPLATE COPY FILE...,
# which brings the files back that were changed, and the extensions.
act=$1 template=$2 copy=$3
shift 3
umask 077
# What stands between the copy's files and those that Chromium changes in it.
begun=$copy/.begun
case $act in
make)
	rm -rf -- "$copy"
	mkdir -p -- "$template" "$copy"
	cp -R -P -- "$template/." "$copy/"
	touch -- "$begun"
	;;
save)
	# Whenever this is killed, what the template's preferences name is there: new extensions
	# come before the preferences and old ones go after them. Each is ID/VERSION, and never
	# changes.
	from=$copy/Default/Extensions to=$template/Default/Extensions gone=()
	if [ -d "$from" ]; then
		shopt -s nullglob
		for version in "$to"/*/*; do
			[ -e "$from/${version#"$to/"}" ] || gone+=("$version")
		done
		for version in "$from"/*/*; do
			target=$to/${version#"$from/"}
			[ -e "$target" ] && continue
			mkdir -p -- "$(dirname -- "$target")"
			mv -T -- "$version" "$target"
		done
	fi
	for file; do
		if [ -f "$copy/$file" ] && [ "$copy/$file" -nt "$begun" ]; then
			mkdir -p -- "$(dirname -- "$template/$file")"
			# Whole or not at all: a start may copy the template after a crash.
			cp -P -- "$copy/$file" "$template/$file.new"
			mv -f -- "$template/$file.new" "$template/$file"
		fi
	done
	rm -rf -- "${gone[@]}" "$copy"
	;;
esac
