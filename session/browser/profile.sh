# Run by bash -eu as the programs' user: make TEMPLATE COPY, or save TEMPLATE COPY FILE...
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
	for file; do
		if [ -f "$copy/$file" ] && [ "$copy/$file" -nt "$begun" ]; then
			mkdir -p -- "$(dirname -- "$template/$file")"
			# Whole or not at all: a start may copy the template after a crash.
			cp -P -- "$copy/$file" "$template/$file.new"
			mv -f -- "$template/$file.new" "$template/$file"
		fi
	done
	rm -rf -- "$copy"
	;;
esac
