/** Two servers that differ in one thing: whether threads or the main thread work through bodies. */
import * as assert from 'uvu/assert'
import type { AnyPlugin } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { Database, sql } from '../../../plugins/database/service.ts'
import references from '../../../plugins/references/index.ts'
import { containedIndex, containerOf } from '../../../plugins/search/index/contained/key-space.ts'
import validation from '../../../plugins/validation/index.ts'
import { createCountedRandom } from '../../support/counted-random.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { createManualClock } from '../../support/manual-clock.ts'
import { moreDefinitions } from '../../support/more-definitions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

const NEVER = 1024 * 1024 * 1024
const TABLES = ['ix_res', 'ix_token', 'ix_ref', 'ix_date', 'ix_qty', 'ix_str', 'ix_comp', 'ix_text']
/** A code system without case. */
export const CASELESS = 'http://any-case.example'
const definitions = moreDefinitions(stubDefinitions('all'), 'systems', '1', [
  {
    resourceType: 'CodeSystem',
    id: 'any-case',
    url: CASELESS,
    status: 'active',
    content: 'complete',
    caseSensitive: false,
  } as never,
])

export interface Asked {
  readonly method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'
  readonly url: string
  readonly payload?: string
  readonly type?: string
  readonly prefer?: string
}

const ask = async (server: TestServer, { method, url, payload, type, prefer }: Asked) => {
  const { statusCode, headers, body } = await server.inject({
    method,
    url,
    headers: {
      ...(payload === undefined ? {} : { 'content-type': type ?? 'application/fhir+json' }),
      ...(prefer === undefined ? {} : { prefer }),
    },
    ...(payload === undefined ? {} : { payload }),
  })
  const { etag, location, 'last-modified': modified, 'content-type': contentType } = headers
  return { statusCode, etag, location, modified, contentType, body }
}
type Row = Record<string, unknown>
const readAll = async (server: TestServer, table: string): Promise<readonly Row[]> =>
  server.get(Database).all<Row>(sql(`test.${table}`, `SELECT * FROM ${table}`), [])
/** Rows with the names of their resources: numbers have gaps where a transaction ran again. */
const rowsOf = async (
  server: TestServer,
  table: string,
  names: ReadonlyMap<number, string>,
): Promise<readonly string[]> => {
  const rows = await readAll(server, table)
  return rows
    .map(({ rid, ...row }) => {
      const isContained = Number(row.param ?? row.type) < 0
      const holder = isContained ? containerOf(Number(rid)) : Number(rid)
      const name = rid === undefined ? undefined : names.get(holder)
      if (rid !== undefined) assert.type(name, 'string', `${table} ${rid}`)
      return JSON.stringify({ name, at: isContained ? containedIndex(Number(rid)) : undefined, ...row })
    })
    .sort()
}
const namesOf = async (server: TestServer): Promise<ReadonlyMap<number, string>> =>
  new Map((await readAll(server, 'resource')).map(({ rid, type, id }) => [Number(rid), `${type}/${id}`]))

export interface TwoServers {
  /** Asks both, and gives the answer, which is one. */
  both(asked: Asked): ReturnType<typeof ask>
  /** Counts the rows of the index, which are the same. */
  sameRows(): Promise<number>
  stop(): Promise<void>
}

/** `conformance`: settings of both. */
export const twoServers = async (
  conformance: Record<string, unknown>,
  more: readonly AnyPlugin[] = [],
): Promise<TwoServers> => {
  const start = (large_body_bytes: number): Promise<TestServer> =>
    serverWith({
      plugins: [database, definitions, validation, ...more, ...fhirPlugins, references],
      clock: createManualClock(),
      random: createCountedRandom(),
      settings: { fhir: { large_body_bytes }, conformance: { update_as_create: true, ...conformance } },
    })
  const main = await start(NEVER)
  const apart = await start(0)
  return {
    async both(asked) {
      const one = await ask(main, asked)
      assert.equal(await ask(apart, asked), one, `${asked.method} ${asked.url}`)
      return one
    },
    async sameRows() {
      let count = 0
      const [ofMain, ofApart] = [await namesOf(main), await namesOf(apart)]
      for (const table of TABLES) {
        const rows = await rowsOf(main, table, ofMain)
        assert.equal(await rowsOf(apart, table, ofApart), rows, table)
        count += rows.length
      }
      return count
    },
    async stop() {
      await main.stop()
      await apart.stop()
    },
  }
}
