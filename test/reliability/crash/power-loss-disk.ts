import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { atEnd, type Cleanup } from '../../kit/cleanup.ts';

/**
 * Folder of the disk images, in memory if possible. A cut loses the page cache above an image, but nothing in the
 * image itself.
 */
const IMAGE_FOLDER = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** Name of the mount point in the folder of a disk. */
const MOUNT_FOLDER_NAME = 'mounted';

/** Size of an image, which is enough for every record of a long run. The image is a sparse file. */
const IMAGE_BYTES = 2 ** 31;

/** Maximum time until a killed process has released the disk. */
const UNMOUNT_TIMEOUT_MS = 10_000;

/**
 * Perl code that cuts the power with ext4's ioctl FS_IOC_SHUTDOWN and EXT4_GOING_FLAGS_NOLOGFLUSH. From then on
 * nothing in memory reaches the disk, neither files nor the journal. Node has no ioctl.
 */
const CUT_POWER_PERL = '$how = pack("L", 2); open(DISK, "<", $ARGV[0]) && ioctl(DISK, 0x8004587d, $how) or die "$!\\n"';

/** A mounted disk image whose power can be cut. */
export type PowerLossDisk = {
  /** The mount point. */
  readonly folder: string;
  /** Kills all processes that use the disk and cuts its power. Data that is not on the disk by then is lost. */
  cutPower(): void;
  /** Unmounts the disk as soon as it is unused, runs fsck and mounts the disk again for the next start. */
  remount(): Promise<void>;
};

/** Returns a sentence that names what this machine lacks for such a disk, or undefined if it lacks nothing. */
export function missingDiskRequirement(): string | undefined {
  if (process.platform !== 'linux') return 'the power of an ext4 disk can be cut on Linux alone';
  if (process.getuid?.() !== 0) return 'mounting a disk needs root';
  const missing = ['mkfs.ext4', 'e2fsck', 'mount', 'umount', 'perl'].filter(
    (tool) => spawnSync('which', [tool]).status !== 0,
  );
  if (missing.length > 0) return `${missing.join(', ')} is not installed`;
  try {
    removeLeftovers();
    const endings: (() => unknown)[] = [];
    makeDisk({ after: (close) => void endings.push(close) });
    for (const close of endings) close();
  } catch (error) {
    return `no disk can be mounted here: ${error instanceof Error ? error.message.split('\n')[1] : error}`;
  }
  return undefined;
}

/** Creates an ext4 image and mounts it. The disk is removed when the run ends, also after an error. */
export function makeDisk(context: Cleanup): PowerLossDisk {
  const place = mkdtempSync(join(IMAGE_FOLDER, `carillon-disk-${process.pid}-`));
  const image = join(place, 'image');
  const folder = join(place, MOUNT_FOLDER_NAME);
  const mount = () => runCommand('mount', '-t', 'ext4', '-o', 'loop,noatime', image, folder);
  const remove = () => {
    process.off('exit', remove);
    removeDisk(place);
  };
  process.on('exit', remove);
  atEnd(context, remove);
  // PostgreSQL runs as another user and must be able to enter the folder.
  chmodSync(place, 0o711);
  mkdirSync(folder);
  runCommand('truncate', '-s', String(IMAGE_BYTES), image);
  runCommand('mkfs.ext4', '-q', '-F', image);
  mount();
  return {
    folder,
    cutPower() {
      // The processes are killed first, because a machine without power answers nothing. An fsync during the cut may
      // return success, because the journal is aborted and its waiters find nothing left to wait for.
      killUsersOf(folder);
      runCommand('perl', '-e', CUT_POWER_PERL, folder);
    },
    async remount() {
      const giveUpAt = performance.now() + UNMOUNT_TIMEOUT_MS;
      while (spawnSync('umount', [folder]).status !== 0) {
        if (performance.now() > giveUpAt) throw new Error(`${folder} is still in use`);
        // Restarted or remaining processes of a database do not outlive a power failure either.
        killUsersOf(folder);
        await wait(10);
      }
      // e2fsck exits with 0 if the file system is clean, and with 1 if it has corrected errors from the journal.
      const checked = spawnSync('e2fsck', ['-f', '-y', image], { encoding: 'utf8' });
      if (checked.status !== 0 && checked.status !== 1) throw new Error(`the disk itself is broken: ${checked.stdout}`);
      mount();
    },
  };
}

function removeDisk(place: string): void {
  const folder = join(place, MOUNT_FOLDER_NAME);
  killUsersOf(folder);
  // The unmount is lazy: files that are still open keep the file system only until they are closed.
  spawnSync('umount', ['-l', folder]);
  rmSync(place, { recursive: true, force: true });
}

/** Removes the disks of earlier runs that were killed. */
function removeLeftovers(): void {
  for (const name of readdirSync(IMAGE_FOLDER)) {
    const [, pid] = /^carillon-disk-(\d+)-/.exec(name) ?? [];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) removeDisk(join(IMAGE_FOLDER, name));
  }
}

/** Whether a cut works as expected: flushed data survives, data that was only written is lost. */
export async function losesUnflushedData(disk: PowerLossDisk): Promise<boolean> {
  const file = join(disk.folder, 'tried');
  const handle = openSync(file, 'w+');
  writeSync(handle, 'flushed', 0);
  fsyncSync(handle);
  const folder = openSync(disk.folder, 'r');
  fsyncSync(folder);
  closeSync(folder);
  writeSync(handle, 'written', 0);
  disk.cutPower();
  closeSync(handle);
  await disk.remount();
  const held = readFileSync(file, 'utf8');
  rmSync(file);
  return held === 'flushed';
}

/** Sends SIGKILL to every process whose working directory, arguments or environment refer to this disk. */
function killUsersOf(folder: string): void {
  for (const pid of readdirSync('/proc').map(Number).filter(Number.isInteger)) {
    if (pid === process.pid) continue;
    try {
      const references = [
        readlinkSync(`/proc/${pid}/cwd`),
        ...['cmdline', 'environ'].map((file) => readProcFile(pid, file)),
      ];
      if (references.some((text) => text.includes(folder))) process.kill(pid, 'SIGKILL');
    } catch {
      // The process has exited meanwhile.
    }
  }
}

const readProcFile = (pid: number, file: string): string => readFileSync(`/proc/${pid}/${file}`, 'utf8');

function runCommand(command: string, ...args: readonly string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' });
}
