/** An operator's folder: with a server.toml, and packages in its node_modules. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface PackageFolder {
  readonly path: string
  /** Writes a file. TypeScript is turned into JavaScript, because Node strips no types under node_modules. */
  write(name: string, text: string): void
  /** Writes node_modules/<name>: `files` beside the package.json made of `fields`. */
  install(name: string, fields: object, files: Readonly<Record<string, string>>): void
  remove(): void
}

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Packages that plugins may depend on; they are installed beside them, as this server is. */
const PEERS = ['typebox', '@oclif/core']

export const createPackageFolder = (): PackageFolder => {
  const path = mkdtempSync(join(tmpdir(), 'refhir-packages-'))
  const write = (name: string, text: string): void => {
    const file = join(path, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  const install: PackageFolder['install'] = (name, fields, files) => {
    const folder = join('node_modules', name)
    write(join(folder, 'package.json'), JSON.stringify({ name, version: '1.0.0', ...fields }))
    for (const [file, text] of Object.entries(files))
      write(join(folder, file.replace(/\.ts$/, '.js')), file.endsWith('.ts') ? stripTypeScriptTypes(text) : text)
  }
  // The package as `npm pack` would make it, except that its exports lead to the sources and not to a build.
  install(
    'refhir',
    {
      type: 'module',
      exports: { '.': './index.js', './plugins': './plugins.js', './plugins/*/service': './service-*.js' },
    },
    {
      'index.js': `export * from ${JSON.stringify(new URL('../../kernel/index.ts', import.meta.url))}`,
      'plugins.js': `export * from ${JSON.stringify(new URL('../../plugins/index.ts', import.meta.url))}`,
      'service-database.js': `export * from ${JSON.stringify(new URL('../../plugins/database/service.ts', import.meta.url))}`,
    },
  )
  for (const peer of PEERS) {
    const link = join(path, 'node_modules', peer)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(root, 'node_modules', peer), link, 'junction')
  }
  return { path, write, install, remove: () => rmSync(path, { recursive: true, force: true }) }
}
