/**
 * What V8 and the allocator read once, when a process begins. A server is therefore started a second time in the same process
 * (execve: same id, same terminal, same signals), before anything is loaded; it takes some 30 ms.
 *
 * - V8 lets its young generation grow to 128 MB. With 32 MB requests are as fast.
 * - V8 discards the bytecode of functions that were not called lately when it collects to return memory, as a server does once
 *   it is idle after its start. Requests took more CPU time after that, and keeping the bytecode takes no more memory at rest.
 * - V8 allocates at once in the old generation what a place of the code has often allocated for long, such as what a start keeps.
 *   Whether that concerns places that each request passes is a matter of chance, from one process to the next: creates took up
 *   to a tenth more CPU time, and collections of the young generation moved up to seven times as much.
 * - V8 collects again after eight idle seconds, and removes the shapes (maps) of objects of which none lives then. Code that was
 *   compiled for them stays slower: process.nextTick alone takes 3 µs more of a read and 6 µs of a create. It shall keep them.
 * - glibc raises the size from which it asks the system for memory of its own (mmap) whenever such memory is freed. The many
 *   buffers of 64 KiB, of sockets and files, then lie among smaller ones, and free memory between them is not given back:
 *   100 MB after an installation. A size that is set is not raised.
 * - glibc has eight arenas for each core, and each keeps what was freed in it.
 *
 * https://sourceware.org/glibc/manual/latest/html_node/Malloc-Tunable-Parameters.html
 */
const HEAP = [
  '--max-semi-space-size=16', // MB; the young generation has two
  '--no-flush-bytecode',
  '--no-allocation-site-pretenuring',
]
const KEEP_SHAPES = '--no-memory-reducer-favors-memory'
const KNOWS_KEEP_SHAPES = 24 // first major version of Node.js that does not refuse to start with it

const ALLOCATOR = {
  MALLOC_MMAP_THRESHOLD_: '65536',
  MALLOC_TRIM_THRESHOLD_: '131072',
  MALLOC_ARENA_MAX: '2',
}

/** Options that size the heap: an operator who gives one of them knows better. */
const SIZES_YOUNG = /--(max|min)[-_]semi[-_]space[-_]size|--max[-_]heap[-_]size/

/** Commands that run for long, or hold much. */
const LONG = new Set(['serve', 'import', 'reindex'])

const isLong = (argv) => argv[0] === undefined || argv[0].startsWith('-') || LONG.has(argv[0])

/**
 * Arguments and environment of the second start; undefined where there is none: where the options are given already, for
 * short commands, and on systems that cannot replace a process.
 */
export const memoryArguments = ({ argv, execArgv, env, platform, versions, execve, connected }) => {
  const given = [...execArgv, env.NODE_OPTIONS ?? ''].join(' ')
  // The channel to a parent that has forked it would be lost.
  if (execve === undefined || platform === 'win32' || connected === true) return undefined
  if (SIZES_YOUNG.test(given) || !isLong(argv.slice(2))) return undefined
  const heap = Number.parseInt(versions.node, 10) < KNOWS_KEEP_SHAPES ? HEAP : [...HEAP, KEEP_SHAPES]
  const bin = new URL('./bin.js', import.meta.url)
  return {
    args: [...execArgv, ...heap, decodeURIComponent(bin.pathname), ...argv.slice(2)],
    environment: { ...ALLOCATOR, ...env },
  }
}
