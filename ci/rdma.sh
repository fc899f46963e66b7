#!/usr/bin/env bash
# Tests memory regions of an RDMA adapter with the real libibverbs: boots the kernel of Debian in
# QEMU, where soft-RoCE is an adapter, and runs registration/tests/rdma.rs there, as root. Needs
# Debian on x86-64. QEMU emulates the processor, so no rights and no kernel modules are needed here.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$target/rdma
log=$target/ci/rdma.log
root=$work/root
modules=(rdma_rxe ib_uverbs dummy crc32_generic)

main() {
    mkdir -p "$work" "$(dirname "$log")"
    [ "$(uname -m)" = x86_64 ] && command -v apt-get >/dev/null ||
        stop "it needs Debian or Ubuntu on x86-64"
    ci/setup.sh qemu-system-x86 libibverbs-dev ibverbs-providers busybox-static kmod iproute2
    get_kernel
    build
    make_root
    boot
    ci/count.sh "$log"
}

# Unpacks the kernel and its modules, without installing them.
get_kernel() {
    local package
    package=$(apt-cache depends linux-image-amd64 | sed -n 's/ *Depends: //p' | head -n 1)
    [ -n "$package" ] || stop "there is no package linux-image-amd64: run apt-get update"
    if [ ! -e "$work/$package" ]; then
        rm -rf "$work/kernel" "$work"/*.deb
        (cd "$work" && apt-get -o APT::Sandbox::User=root download "$package")
        dpkg-deb -x "$work"/linux-image-*.deb "$work/kernel"
        touch "$work/$package"
    fi
    release=${package#linux-image-}
    depmod -b "$work/kernel" "$release"
}

build() {
    test=$(cargo test -p tcasm-registration --test rdma --no-run --message-format json |
        sed -n 's/.*"name":"rdma".*"executable":"\([^"]*\)".*/\1/p')
    "${CC:-cc}" -O2 -Wall -Wextra -Werror -shared -fPIC registration/tests/rdma/adapter.c \
        -o "$work/libreader.so" -libverbs
}

# Makes the file system of the machine, which is in memory: the tests, the libraries of verbs, and
# what starts them.
make_root() {
    local module file
    rm -rf "$root"
    mkdir -p "$root"/{proc,sys,dev,tmp,etc,bin,"lib/modules/$release"}
    cp "$(command -v busybox)" "$root/bin/"
    for file in ip rdma; do copy "$(command -v "$file")" /bin; done
    copy "$test" /bin
    copy "$work/libreader.so" /bin
    install -D /etc/libibverbs.d/rxe.driver "$root/etc/libibverbs.d/rxe.driver"
    for file in /usr/lib/x86_64-linux-gnu/libibverbs/librxe-*; do copy "$file" "${file%/*}"; done
    for module in "${modules[@]}"; do
        modprobe -d "$work/kernel" -S "$release" --show-depends "$module"
    done | sed -n "s|^insmod .*/lib/modules/$release/\([^ ]*\).*|\1|p" | sort -u | while read -r file; do
        install -D "$work/kernel/lib/modules/$release/$file" "$root/lib/modules/$release/$file"
    done
    cp "$work/kernel/lib/modules/$release/"modules.{order,builtin,builtin.modinfo} \
        "$root/lib/modules/$release/"
    depmod -b "$root" "$release"
    write_init
    (cd "$root" && find . | busybox cpio -o -H newc | gzip -1) >"$work/root.gz"
}

# copy FILE FOLDER: copies a program or library, and the libraries that it needs.
copy() {
    local library
    mkdir -p "$root/$2"
    cp -L "$1" "$root/$2/"
    for library in $(ldd "$1" | grep -o '/[^ ]*'); do
        [ -e "$root$library" ] || install -D "$library" "$root$library"
    done
}

write_init() {
    cat >"$root/init" <<END
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp RUST_BACKTRACE=1 TCASM_RDMA_READER=/bin/libreader.so
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs -o mode=1777 tmp /tmp
for module in ${modules[*]}; do modprobe \$module; done
ip link add net0 type dummy
ip address add 10.9.9.1/24 dev net0
ip link set net0 up
ip link set lo up
rdma link add rxe0 type rxe netdev net0
chmod 666 /dev/infiniband/uverbs0
echo "Linux \$(uname -r), \$(rdma link)"
${test##*/} --ignored --test-threads 1
echo "the tests ended with status \$?"
poweroff -f
END
    chmod +x "$root/init"
}

boot() {
    timeout 500 qemu-system-x86_64 -machine accel=tcg -cpu max -m 1024 -nodefaults -nographic \
        -serial stdio -no-reboot -kernel "$work/kernel/boot/vmlinuz-$release" \
        -initrd "$work/root.gz" -append 'console=ttyS0 panic=-1 quiet' </dev/null |
        tr -d '\r' | tee "$log"
    grep -q 'the tests ended with status 0' "$log" || stop "see $log"
}

stop() {
    echo "rdma: $1" >&2
    exit 1
}

main
