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
	for file; do
		if [ -f "$copy/$file" ] && [ "$copy/$file" -nt "$begun" ]; then
			mkdir -p -- "$(dirname -- "$template/$file")"
			# Whole or not at all: a start may copy the template after a crash.
			cp -P -- "$copy/$file" "$template/$file.new"
			mv -f -- "$template/$file.new" "$template/$file"
		fi
	done
	# What the preferences say is installed has to be there, so this goes with them.
	if [ -d "$copy/Default/Extensions" ]; then
		mkdir -p -- "$template/Default"
		if [ -d "$template/Default/Extensions" ]; then
			mv -T -- "$template/Default/Extensions" "$copy/Extensions.old"
		fi
		mv -T -- "$copy/Default/Extensions" "$template/Default/Extensions"
	fi
	rm -rf -- "$copy"
	;;
esac
