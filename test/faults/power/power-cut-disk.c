/*
 * Emulates a disk with a volatile cache whose power can be cut: power-cut-disk IMAGE MOUNTPOINT.
 *
 * The mount point contains two files. `disk` is the image. A write to it is visible at once, but
 * safe only after a flush. A flush is an fsync of this file; a loop device sends one for every
 * barrier. `control` accepts one command per write:
 *
 *   load                              restore the power; the counters start again at zero
 *   cut TRIGGER COUNT LOSS_MODE SEED  cut the power at the COUNTth write or flush from now on
 *
 * TRIGGER is `w` (a write, when it is in the cache), `f` (a flush, before it does anything), `d` (a
 * flush, when it is done) or `n` (now). LOSS_MODE says what part of the cache still reaches the
 * image: `a` everything, `z` nothing, `o` a random prefix in write order, `b` random blocks of 4096
 * bytes, `s` random sectors of 512 bytes. If a sector was written twice, the first write may
 * survive and the second be lost. After the cut every call fails with EIO until the next `load`.
 * Each cut prints one line on standard output.
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

static char *image, *visible;
static size_t size;
static struct unflushed *cache;
static size_t cached, capacity;
static unsigned writes, flushes;
static int is_off;

static char trigger = '-', loss_mode = 'a';
static unsigned remaining;
static uint64_t random_state;

static uint64_t next_random(void)
{
	uint64_t z = (random_state += 0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static void write_to_image(const struct unflushed *entry)
{
	memcpy(image + entry->sector * SECTOR, entry->bytes, SECTOR);
}

static void power_off(void)
{
	/* A real disk takes time: an answer sent without waiting for it gets out before the cut. */
	if (trigger == 'w' || trigger == 'f') usleep(10000);
	size_t survivors = 0, prefix = loss_mode == 'o' ? next_random() % (cached + 1) : 0;
	/* Of 256, so that a cut can lose nearly everything or nearly nothing. */
	unsigned survival_odds = 16 + next_random() % 225;
	int survives = 0;
	for (size_t i = 0; i < cached; i++) {
		const struct unflushed *entry = &cache[i];
		int is_same_block = i > 0 && entry->write == cache[i - 1].write &&
			entry->sector % (BLOCK / SECTOR) != 0;
		if (loss_mode == 's' || (loss_mode == 'b' && !is_same_block))
			survives = next_random() % 256 < survival_odds;
		else if (loss_mode == 'a') survives = 1;
		else if (loss_mode == 'o') survives = i < prefix;
		if (survives) write_to_image(entry), survivors++;
	}
	is_off = 1;
	printf("%c: cut after %u writes and %u flushes, %zu of %zu unflushed sectors lost\n",
		trigger, writes, flushes, cached - survivors, cached);
	fflush(stdout);
}

static int is_due(char event)
{
	return trigger == event && --remaining == 0;
}

static int command(const char *text, size_t length)
{
	char line[128] = "";
	unsigned long long seed;
	if (length >= sizeof line) return -EINVAL;
	memcpy(line, text, length);
	if (strncmp(line, "load", 4) == 0) {
		memcpy(visible, image, size);
		cached = writes = flushes = is_off = 0;
		trigger = '-';
		return length;
	}
	if (is_off) return length;
	if (sscanf(line, "cut %c %u %c %llu", &trigger, &remaining, &loss_mode, &seed) != 4)
		return -EINVAL;
	random_state = seed;
	if (trigger == 'n') power_off();
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

/* The shell's `>` truncates a file before it writes. */
static int on_truncate(const char *path, off_t length, struct fuse_file_info *file)
{
	(void)length, (void)file;
	return is_disk(path) ? -EPERM : 0;
}

static int on_read(const char *path, char *to, size_t length, off_t at, struct fuse_file_info *file)
{
	(void)file;
	if (!is_disk(path) || (size_t)at >= size) return 0;
	if (is_off) return -EIO;
	if (length > size - at) length = size - at;
	memcpy(to, visible + at, length);
	return length;
}

static int on_write(const char *path, const char *from, size_t length, off_t at,
	struct fuse_file_info *file)
{
	(void)file;
	if (!is_disk(path)) return command(from, length);
	if (is_off) return -EIO;
	if (at % SECTOR || length % SECTOR || at + length > size) return -EINVAL;
	memcpy(visible + at, from, length);
	writes++;
	for (size_t done = 0; done < length; done += SECTOR) {
		if (cached == capacity) {
			capacity = capacity ? capacity * 2 : 4096;
			cache = realloc(cache, capacity * sizeof *cache);
			if (!cache) abort();
		}
		cache[cached].sector = (at + done) / SECTOR;
		cache[cached].write = writes;
		memcpy(cache[cached++].bytes, from + done, SECTOR);
	}
	if (is_due('w')) power_off();
	return length;
}

static int on_fsync(const char *path, int data, struct fuse_file_info *file)
{
	(void)data, (void)file;
	if (!is_disk(path)) return 0;
	if (is_off) return -EIO;
	flushes++;
	if (is_due('f')) {
		power_off();
		return -EIO;
	}
	for (size_t i = 0; i < cached; i++) write_to_image(&cache[i]);
	cached = 0;
	if (is_due('d')) power_off();
	return 0;
}

int main(int argc, char **argv)
{
	struct stat found;
	int fd;
	if (argc != 3 || (fd = open(argv[1], O_RDWR)) < 0 || fstat(fd, &found) != 0) return 2;
	size = found.st_size;
	image = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	visible = malloc(size);
	if (image == MAP_FAILED || visible == NULL) return 2;
	/* -s: one request at a time, so that a cut falls between two requests. */
	char *fuse_args[] = { argv[0], argv[2], "-f", "-s", NULL };
	struct fuse_operations disk = {
		.getattr = on_getattr, .open = on_open, .truncate = on_truncate,
		.read = on_read, .write = on_write, .fsync = on_fsync,
	};
	return fuse_main(4, fuse_args, &disk, NULL);
}
