/** The fences of a SQLite file: one server at a time, under one name. */
import type { Fence } from './fence.ts'

export const SQLITE_FENCES: readonly Fence[] = [
  {
    name: 'a server takes the lock of the file',
    file: 'plugins/database/sqlite/database.ts',
    check: '  const lock = await lockForStart(options, signal)\n',
    planted:
      "  const lock = { path: '', isHeld: () => true, release: () => undefined } as FileLock\n  void lockForStart\n  void signal\n",
    test: 'test/server/sqlite-alone.test.ts',
  },
  {
    name: 'a lock file that was removed is noticed',
    file: 'plugins/database/sqlite/lock-watch.ts',
    check: 'if (!lock.isHeld()) {',
    planted: 'if (false as boolean) {',
    test: 'test/server/sqlite-alone.test.ts',
  },
  {
    name: 'a server stores nothing when another one has its lock',
    file: 'plugins/database/sqlite/lock-watch.ts',
    check: 'if (isServerError(error)) refuse(error.message)',
    planted: 'if (isServerError(error)) return',
    test: 'test/server/sqlite-alone.test.ts',
  },
  {
    name: 'a server stores nothing after another one has come and gone',
    file: 'plugins/database/sqlite/lock-watch.ts',
    check: "if (!isLatest()) refuse('a server was started on the file later')",
    planted: '',
    test: 'test/server/sqlite-alone.test.ts',
  },
  {
    name: 'each start is counted in the file',
    file: 'plugins/database/sqlite/count-start.ts',
    check: 'const next = ((read.get() as number) % MAX_COUNT) + 1',
    planted: 'const next = (read.get() as number) % MAX_COUNT',
    test: 'test/server/sqlite-alone.test.ts',
  },
  {
    name: 'the lock is checked in each transaction',
    file: 'plugins/database/sqlite/database.ts',
    check: 'hold: () => lockWatch?.hold(),',
    planted: 'hold: () => undefined,',
    test: 'test/server/sqlite-alone.test.ts',
  },
  {
    name: 'the lock is checked without a transaction too',
    file: 'plugins/database/sqlite/database.ts',
    check: '    fileGuard?.confirm()\n    lockWatch?.hold()\n',
    planted: '    fileGuard?.confirm()\n',
    test: 'test/server/sqlite-alone.test.ts',
  },
  {
    name: 'a server that has lost its lock ends',
    file: 'plugins/database/sqlite/lock-watch.ts',
    check: '    onTaken()\n',
    planted: '',
    test: 'test/server/sqlite-alone.test.ts',
  },
  {
    name: 'symbolic links lead to one lock file',
    file: 'plugins/database/sqlite/file-lock.ts',
    check: 'realPath(path)}-lock',
    planted: 'path}-lock',
    test: 'test/server/sqlite-alone.test.ts',
  },
  {
    name: 'a file with several names is refused',
    file: 'plugins/database/sqlite/database.ts',
    check: '    checkSingleName(path)\n',
    planted: '    void checkSingleName\n',
    test: 'test/cli/database-refused.test.ts',
  },
  {
    name: 'a file that is a mount point is refused',
    file: 'plugins/database/sqlite/single-name.ts',
    check: 'if (mountPoints(readMountinfo()).has(realPath(path)))',
    planted: 'if (false as boolean)',
    test: 'test/cli/database-refused.test.ts',
  },
  {
    name: 'a command that needs the file alone sees who has it open',
    file: 'plugins/database/sqlite/open-elsewhere.ts',
    check: "if (String((error as { code?: string }).code).startsWith('SQLITE_BUSY')) return true",
    planted: "if (String((error as { code?: string }).code).startsWith('SQLITE_BUSY')) return false",
    test: 'test/server/sqlite-alone.test.ts',
  },
]
