/** A server that imports over HTTP, and short ways to ask it. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AnyPlugin } from '../../../kernel/index.ts'
import audit from '../../../plugins/audit/index.ts'
import database from '../../../plugins/database/index.ts'
import importing from '../../../plugins/import/index.ts'
import jobs from '../../../plugins/jobs/index.ts'
import references from '../../../plugins/references/index.ts'
import { temporaryFolder } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { type TestToken, tokenHeaders } from '../../support/scoped-callers.ts'
import { searchDefinitions } from '../../support/search-definitions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { until } from '../../support/until.ts'

export type Json = Record<string, any>

export interface Answered {
  readonly status: number
  readonly headers: Record<string, any>
  readonly text: string
  readonly json: Json
}

export interface Input {
  readonly type: string
  readonly url: string
}

export interface ImportClinic {
  readonly server: TestServer
  /** The directory of the list. */
  readonly folder: string
  ask(method: string, url: string, body?: Json, token?: TestToken | Record<string, string>): Promise<Answered>
  /** Writes a file into the directory, and gives its URL. */
  write(name: string, content: string | Uint8Array): string
  link(name: string, to: string): string
  kickOff(inputs: readonly Input[], token?: TestToken, more?: readonly Json[]): Promise<Answered>
  /** Kicks off, waits for the end, and gives its answer. */
  run(inputs: readonly Input[], token?: TestToken): Promise<Answered>
  end(job: string, token?: TestToken | Record<string, string>): Promise<Answered>
  /** Lines of a list of errors. */
  errors(url: string, token?: TestToken): Promise<readonly Json[]>
  stop(): Promise<void>
}

export const pathOf = (url: string): string => url.replace(/^https?:\/\/[^/]+/, '')
export const lines = (...resources: readonly (object | string)[]): string =>
  resources.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join('\n')
export const patient = (id: string | undefined, more: object = {}): Json => ({ resourceType: 'Patient', id, ...more })

export const toParameters = (inputs: readonly Input[], more: readonly Json[] = []): Json => ({
  resourceType: 'Parameters',
  parameter: [
    { name: 'inputFormat', valueCode: 'application/fhir+ndjson' },
    ...more,
    ...inputs.map(({ type, url }) => ({
      name: 'input',
      part: [
        { name: 'type', valueCode: type },
        { name: 'url', valueUri: url },
      ],
    })),
  ],
})

export const importClinic = async ({
  more = [],
  sources = [],
  insideHosts = [],
  settings = {},
  isOff = false,
}: {
  readonly more?: readonly AnyPlugin[]
  readonly sources?: readonly string[]
  readonly insideHosts?: readonly string[]
  readonly settings?: Record<string, Json>
  /** Without sources. */
  readonly isOff?: boolean
} = {}): Promise<ImportClinic> => {
  const place = temporaryFolder()
  const folder = join(place.path, 'files')
  mkdirSync(folder)
  const server = await serverWith({
    plugins: [database, searchDefinitions(), ...more, ...fhirPlugins, references, jobs, importing, audit],
    settings: {
      ...settings,
      import: { sources: isOff ? [] : [folder, ...sources], inside_hosts: insideHosts, ...settings.import },
    },
  })
  const ask: ImportClinic['ask'] = async (method, url, body, token = {}) => {
    const own = Object.keys(token).some((name) => name.startsWith('x-')) ? (token as Record<string, string>) : undefined
    const answer = await server.inject({
      method: method as 'GET',
      url,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/fhir+json' }),
        ...(own ?? tokenHeaders(token as TestToken)),
        prefer: 'respond-async',
      },
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    })
    return {
      status: answer.statusCode,
      headers: answer.headers,
      text: answer.body,
      get json() {
        return answer.json() as Json
      },
    }
  }
  const kickOff: ImportClinic['kickOff'] = (inputs, token, more) =>
    ask('POST', '/$import', toParameters(inputs, more), token)
  const end: ImportClinic['end'] = async (job, token) => {
    let last: Answered | undefined
    await until(
      async () => {
        last = await ask('GET', job, undefined, token)
        return last.status !== 202 && last.status !== 429
      },
      30_000,
      `${job} to end`,
    )
    return last as Answered
  }
  return {
    ...{ server, folder, ask, kickOff, end },
    write(name, content) {
      const path = join(folder, name)
      writeFileSync(path, content)
      return pathToFileURL(path).href
    },
    link(name, to) {
      const path = join(folder, name)
      symlinkSync(to, path)
      return pathToFileURL(path).href
    },
    async run(inputs, token) {
      const { status, headers, text } = await kickOff(inputs, token)
      if (status !== 202) throw new Error(`$import: ${status} ${text}`)
      return end(pathOf(headers['content-location']), token)
    },
    async errors(url, token) {
      const { status, text } = await ask('GET', pathOf(url), undefined, token)
      if (status !== 200) throw new Error(`${url}: ${status} ${text}`)
      return text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Json)
    },
    async stop() {
      await server.stop()
      place.remove()
    },
  }
}
