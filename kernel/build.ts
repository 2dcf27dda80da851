/** The version of this build, from package.json: printed by --version and recorded in the database. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** package.json lies one folder up from the sources and two up from the compiled tree. */
const findPackage = (folder: string): string =>
  existsSync(join(folder, 'package.json')) ? folder : findPackage(dirname(folder))

export const PACKAGE_FOLDER: string = findPackage(dirname(fileURLToPath(import.meta.url)))

export const BUILD: string = (
  JSON.parse(readFileSync(join(PACKAGE_FOLDER, 'package.json'), 'utf8')) as { version: string }
).version
