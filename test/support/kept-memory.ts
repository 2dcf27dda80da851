/**
 * Variables for processes that run tests: glibc keeps what is freed for the next allocation. Returned to the system and asked for
 * again, it is mapped and cleared each time, which takes a twentieth of the CPU time of a run. Other systems ignore them.
 */
export const keptMemory: Readonly<Record<string, string>> = {
  MALLOC_TRIM_THRESHOLD_: String(1e9),
  MALLOC_MMAP_THRESHOLD_: String(1e9),
  MALLOC_TOP_PAD_: String(16e6),
}

/** glibc has read them when the process started. Servers that tests start are to use memory as everywhere else. */
export const forgetKeptMemory = (): void => {
  for (const name of Object.keys(keptMemory)) delete process.env[name]
}
