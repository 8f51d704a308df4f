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
import { atEnd, type Cleanup } from '../../../kit/cleanup.ts';

/** In memory where there is such a thing: what a cut takes away is lost above the image, and not in it. */
const PLACE = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** The folder of a disk, in its place. */
const MOUNTED = 'mounted';

/** Room enough for every record of a long run; a file with holes, so that only what is written takes any. */
const IMAGE_BYTES = 2 ** 31;

/** Whoever has just been killed lets go of the disk by then. */
const UNMOUNT_TIMEOUT_MS = 10_000;

/**
 * The ioctl that ext4 has for this: FS_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH. From that moment nothing reaches the
 * disk any more, of what stands in memory neither files nor the journal. Node has no ioctl; Perl has.
 */
const CUT = '$how = pack("L", 2); open(DISK, "<", $ARGV[0]) && ioctl(DISK, 0x8004587d, $how) or die "$!\\n"';

/** A disk of its own, whose power can be cut. */
export type Disk = {
  /** The folder in which it is mounted. */
  readonly folder: string;
  /** Cuts the power, of whoever is on it first: nothing that is not on the disk at this moment will ever be. */
  cut(): void;
  /** Takes the disk out, once nobody uses it any more, has it checked, and puts it in again: what the next start finds. */
  remount(): Promise<void>;
};

/** What is missing for such a disk, in words; undefined when nothing is. */
export function disksLack(): string | undefined {
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

/** Makes an ext4 disk in a file and mounts it; taken away when the run ends, however it ends. */
export function makeDisk(context: Cleanup): Disk {
  const place = mkdtempSync(join(PLACE, `carillon-disk-${process.pid}-`));
  const image = join(place, 'image');
  const folder = join(place, MOUNTED);
  const mount = () => run('mount', '-t', 'ext4', '-o', 'loop,noatime', image, folder);
  const remove = () => {
    process.off('exit', remove);
    removeDisk(place);
  };
  process.on('exit', remove);
  atEnd(context, remove);
  // PostgreSQL runs as a user of its own, and must get through.
  chmodSync(place, 0o711);
  mkdirSync(folder);
  run('truncate', '-s', String(IMAGE_BYTES), image);
  run('mkfs.ext4', '-q', '-F', image);
  mount();
  return {
    folder,
    cut() {
      // As in a machine without power nobody answers any more. An fsync beside the cut may return as if all were well: the
      // journal is given up, and whoever waited for it finds nothing left to wait for.
      killUsersOf(folder);
      run('perl', '-e', CUT, folder);
    },
    async remount() {
      const giveUpAt = performance.now() + UNMOUNT_TIMEOUT_MS;
      while (spawnSync('umount', [folder]).status !== 0) {
        if (performance.now() > giveUpAt) throw new Error(`${folder} is still in use`);
        // No part of a database outlives a power failure, were it only to log that it cannot go on.
        killUsersOf(folder);
        await wait(10);
      }
      // 0: sound; 1: put right, as its journal says.
      const checked = spawnSync('e2fsck', ['-f', '-y', image], { encoding: 'utf8' });
      if (checked.status !== 0 && checked.status !== 1) throw new Error(`the disk itself is broken: ${checked.stdout}`);
      mount();
    },
  };
}

function removeDisk(place: string): void {
  const folder = join(place, MOUNTED);
  killUsersOf(folder);
  // Lazily: whoever still has a file open there keeps it no longer than until it is closed.
  spawnSync('umount', ['-l', folder]);
  rmSync(place, { recursive: true, force: true });
}

/** Takes away what a run has left that was killed itself. */
function removeLeftovers(): void {
  for (const name of readdirSync(PLACE)) {
    const [, pid] = /^carillon-disk-(\d+)-/.exec(name) ?? [];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) removeDisk(join(PLACE, name));
  }
}

/** Whether a cut does what is said of it: what was flushed is there afterwards, and what was only written is not. */
export async function losesWhatIsNotFlushed(disk: Disk): Promise<boolean> {
  const file = join(disk.folder, 'tried');
  const handle = openSync(file, 'w+');
  writeSync(handle, 'flushed', 0);
  fsyncSync(handle);
  const folder = openSync(disk.folder, 'r');
  fsyncSync(folder);
  closeSync(folder);
  writeSync(handle, 'written', 0);
  disk.cut();
  closeSync(handle);
  await disk.remount();
  const held = readFileSync(file, 'utf8');
  rmSync(file);
  return held === 'flushed';
}

/** SIGKILL for every process that has its place on this disk, or was started with it in its words or its environment. */
function killUsersOf(folder: string): void {
  for (const pid of readdirSync('/proc').map(Number).filter(Number.isInteger)) {
    if (pid === process.pid) continue;
    try {
      const known = [readlinkSync(`/proc/${pid}/cwd`), ...['cmdline', 'environ'].map((file) => textOf(pid, file))];
      if (known.some((text) => text.includes(folder))) process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  }
}

const textOf = (pid: number, file: string): string => readFileSync(`/proc/${pid}/${file}`, 'utf8');

function run(command: string, ...args: readonly string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' });
}
