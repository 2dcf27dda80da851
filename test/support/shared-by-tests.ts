/**
 * What several tests of a file share, such as a server: it is opened for the first test that asks for it, and closed after the
 * last test of the file. Call it while the file is loaded.
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
