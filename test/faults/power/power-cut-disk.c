/*
 * A disk with a volatile cache whose power can be cut: power-cut-disk IMAGE MOUNTPOINT.
 *
 * The mount point holds two files. `disk` is the image. What is written to it is seen at once and
 * safe only after a flush, which is what fsync on this file means: a loop device sends one for
 * every barrier. `control` takes one command a write:
 *
 *   load                        the image is what is there; counting begins anew
 *   cut WHEN COUNT HOW SEED     the power goes at the COUNTth write or flush from here on
 *
 * WHEN is `w` (a write, which is in the cache by then), `f` (a flush, before it does anything),
 * `d` (a flush, when it is done) or `n` (now). HOW says what of the cache still reaches the image:
 * `a` all, `z` nothing, `o` a first part of it in order, `b` blocks of 4096 bytes by lot, `s`
 * sectors of 512 bytes by lot. Of something written twice, the first may stay and the second go.
 * Then everything fails with EIO until the next `load`. One line on standard output tells of a cut.
 */
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTOR 512
#define BLOCK 4096

struct unflushed { size_t sector; unsigned write; char bytes[SECTOR]; };

static char *image, *seen;
static size_t size;
static struct unflushed *cache;
static size_t held, room;
static unsigned writes, flushes;
static int dead;

static char when = '-', how = 'a';
static unsigned left;
static uint64_t lot;

static uint64_t draw(void)
{
	uint64_t z = (lot += 0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static void settle(const struct unflushed *one)
{
	memcpy(image + one->sector * SECTOR, one->bytes, SECTOR);
}

static void power_off(void)
{
	/* A real disk takes its time: whoever does not wait for it has time to say something wrong. */
	if (when == 'w' || when == 'f') usleep(10000);
	size_t kept = 0, first = how == 'o' ? draw() % (held + 1) : 0;
	/* Of every 256, so that a cut can take nearly all or nearly nothing. */
	unsigned odds = 16 + draw() % 225;
	int keep = 0;
	for (size_t i = 0; i < held; i++) {
		const struct unflushed *one = &cache[i];
		int same = i > 0 && one->write == cache[i - 1].write &&
			one->sector % (BLOCK / SECTOR) != 0;
		if (how == 's' || (how == 'b' && !same)) keep = draw() % 256 < odds;
		else if (how == 'a') keep = 1;
		else if (how == 'o') keep = i < first;
		if (keep) settle(one), kept++;
	}
	dead = 1;
	printf("%c: cut after %u writes and %u flushes, %zu of %zu unflushed sectors lost\n",
		when, writes, flushes, held - kept, held);
	fflush(stdout);
}

static int comes(char what)
{
	return when == what && --left == 0;
}

static int command(const char *text, size_t length)
{
	char line[128] = "";
	unsigned long long seed;
	if (length >= sizeof line) return -EINVAL;
	memcpy(line, text, length);
	if (strncmp(line, "load", 4) == 0) {
		memcpy(seen, image, size);
		held = writes = flushes = dead = 0;
		when = '-';
		return length;
	}
	if (dead) return length;
	if (sscanf(line, "cut %c %u %c %llu", &when, &left, &how, &seed) != 4) return -EINVAL;
	lot = seed;
	if (when == 'n') power_off();
	return length;
}

static int is_disk(const char *path) { return strcmp(path, "/disk") == 0; }

static int on_getattr(const char *path, struct stat *found, struct fuse_file_info *file)
{
	(void)file;
	memset(found, 0, sizeof *found);
	found->st_nlink = 1;
	found->st_mode = S_IFREG | 0600;
	if (strcmp(path, "/") == 0) found->st_mode = S_IFDIR | 0700;
	else if (is_disk(path)) found->st_size = size;
	else if (strcmp(path, "/control") != 0) return -ENOENT;
	return 0;
}

static int on_open(const char *path, struct fuse_file_info *file)
{
	(void)path;
	file->direct_io = 1;
	return 0;
}

/* The shell's `>` cuts a file short before it writes. */
static int on_truncate(const char *path, off_t length, struct fuse_file_info *file)
{
	(void)length, (void)file;
	return is_disk(path) ? -EPERM : 0;
}

static int on_read(const char *path, char *to, size_t length, off_t at, struct fuse_file_info *file)
{
	(void)file;
	if (!is_disk(path) || (size_t)at >= size) return 0;
	if (dead) return -EIO;
	if (length > size - at) length = size - at;
	memcpy(to, seen + at, length);
	return length;
}

static int on_write(const char *path, const char *from, size_t length, off_t at,
	struct fuse_file_info *file)
{
	(void)file;
	if (!is_disk(path)) return command(from, length);
	if (dead) return -EIO;
	if (at % SECTOR || length % SECTOR || at + length > size) return -EINVAL;
	memcpy(seen + at, from, length);
	writes++;
	for (size_t done = 0; done < length; done += SECTOR) {
		if (held == room) {
			room = room ? room * 2 : 4096;
			cache = realloc(cache, room * sizeof *cache);
			if (!cache) abort();
		}
		cache[held].sector = (at + done) / SECTOR;
		cache[held].write = writes;
		memcpy(cache[held++].bytes, from + done, SECTOR);
	}
	if (comes('w')) power_off();
	return length;
}

static int on_fsync(const char *path, int data, struct fuse_file_info *file)
{
	(void)data, (void)file;
	if (!is_disk(path)) return 0;
	if (dead) return -EIO;
	flushes++;
	if (comes('f')) {
		power_off();
		return -EIO;
	}
	for (size_t i = 0; i < held; i++) settle(&cache[i]);
	held = 0;
	if (comes('d')) power_off();
	return 0;
}

int main(int argc, char **argv)
{
	struct stat found;
	int fd;
	if (argc != 3 || (fd = open(argv[1], O_RDWR)) < 0 || fstat(fd, &found) != 0) return 2;
	size = found.st_size;
	image = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	seen = malloc(size);
	if (image == MAP_FAILED || seen == NULL) return 2;
	/* One request after the other: a cut falls between two of them. */
	char *words[] = { argv[0], argv[2], "-f", "-s", NULL };
	struct fuse_operations disk = {
		.getattr = on_getattr, .open = on_open, .truncate = on_truncate,
		.read = on_read, .write = on_write, .fsync = on_fsync,
	};
	return fuse_main(4, words, &disk, NULL);
}
