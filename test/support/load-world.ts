/** `server terminology load` on a fresh database, with releases in folders and archives of their own. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import * as assert from 'uvu/assert'
import database from '../../plugins/database/index.ts'
import terminology from '../../plugins/terminology/index.ts'
import { chosenKind, type FreshDatabase } from './database-kinds.ts'
import { fhirPlugins } from './fhir-plugins.ts'
import { serverWith, type TestServer } from './server-with.ts'
import { terminologyDefinitions } from './terminology-definitions.ts'
import { createWorld, type Ran } from './world.ts'
import { zip } from './zip.ts'

/** Content by path. */
export type ReleaseFiles = Readonly<Record<string, string | Buffer>>
type Json = Record<string, any>

export const loadPlugins = [database, terminologyDefinitions(), ...fhirPlugins, terminology]

export const createLoadWorld = () => {
  const place = createWorld()
  let fresh: FreshDatabase
  let releases = 0
  let isFirst = true
  const world = {
    folder: place.folder,
    /** To be called before each test. */
    async begin(): Promise<void> {
      fresh = await chosenKind.fresh(loadPlugins)
      // Later ones are copies that have the tables.
      if (isFirst) await (await serverWith({ settings: fresh.settings, plugins: loadPlugins })).stop()
      isFirst = false
    },
    /** To be called after each test. */
    end: (): Promise<void> => fresh.remove(),
    /** To be called after all tests. */
    remove: (): void => place.remove(),
    /** The flags that choose the database. */
    choice(): readonly string[] {
      const { kind, sqlite_path, postgres_url } = fresh.settings.database as Json
      return kind === 'sqlite' ? ['--sqlite', sqlite_path] : ['--postgres', postgres_url]
    },
    run: (...args: readonly string[]): Promise<Ran> =>
      createWorld({
        ...{ plugins: loadPlugins, folder: place.folder },
        argv: ['terminology', 'load', ...args, ...world.choice()],
      }).run(),
    /** Puts files into a folder of their own. */
    folderOf(files: ReleaseFiles): string {
      releases += 1
      const folder = join(place.folder, `release${releases}`)
      for (const [path, content] of Object.entries(files)) {
        mkdirSync(dirname(join(folder, path)), { recursive: true })
        writeFileSync(join(folder, path), content)
      }
      return folder
    },
    zipOf(files: Readonly<Record<string, string>>): string {
      releases += 1
      const path = join(place.folder, `release${releases}.zip`)
      writeFileSync(path, zip(files))
      return path
    },
    /** What the command prints; it has to succeed. */
    async loaded(...args: readonly string[]): Promise<string> {
      const { code, stdout, stderr } = await world.run(...args)
      assert.is(code, 0, stderr)
      return stdout
    },
    async withServer(work: (server: TestServer) => Promise<void>): Promise<void> {
      const settings = { ...fresh.settings, conformance: { update_as_create: true } }
      const server = await serverWith({ plugins: loadPlugins, settings })
      try {
        await work(server)
      } finally {
        await server.stop()
      }
    },
  }
  return world
}

/** Codes of the value set, or why it has none. */
export const expanded = async (server: TestServer, url: string): Promise<string> => {
  const answer = await server.inject(`/ValueSet/$expand?url=${encodeURIComponent(url)}`)
  if (answer.statusCode !== 200) return `${answer.statusCode} ${answer.json<Json>().issue[0].diagnostics}`
  return (answer.json<Json>().expansion.contains ?? []).map(({ code }: Json) => code).join(' ')
}
