/**
 * Variables for processes that start the compiler of TypeScript, a program in Go: collecting garbage takes two fifths of its CPU
 * time, and it needs 1 GB without. Beyond the limit it collects.
 */
export const compilerEnvironment: Readonly<Record<string, string>> = { GOGC: 'off', GOMEMLIMIT: '2GiB' }
