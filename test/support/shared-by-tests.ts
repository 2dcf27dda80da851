/**
 * Returns a function that gives what several tests of a file share, such as a server: the first test that asks opens it, and it
 * is closed after the last test of the file. Call it while the file is loaded.
 */
import { test } from 'uvu'

export const sharedByTests = <T>(open: () => Promise<T>, close: (shared: T) => unknown): (() => Promise<T>) => {
  let shared: Promise<T> | undefined
  test.after(async () => {
    if (shared !== undefined) await close(await shared)
  })
  return () => {
    shared ??= open()
    return shared
  }
}
