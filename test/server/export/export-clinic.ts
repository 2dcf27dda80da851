/** A server that exports, and short ways to ask it and to read what it wrote. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AnyPlugin, definePlugin } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import exportPlugin from '../../../plugins/export/index.ts'
import jobs from '../../../plugins/jobs/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { scopedCallers, type TestToken, tokenHeaders } from '../../support/scoped-callers.ts'
import { serverWith, type TestServer, type TestServerOptions } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'
import { until } from '../../support/until.ts'

export type Json = Record<string, any>

const DEFINITIONS = [
  ...['Patient', 'Observation', 'Condition', 'Encounter', 'Practitioner', 'Organization', 'Group', 'Binary'],
  ...['Parameters', 'Bundle', 'AuditEvent', 'OperationOutcome', 'Basic'],
  ...['Element', 'Extension', 'Reference', 'Identifier', 'HumanName', 'Narrative', 'Meta', 'Coding', 'CodeableConcept'],
]
const PARAMETERS =
  /^(SearchParameter-(Patient|Observation|Condition|Encounter|Practitioner|Group|Resource|clinical|individual)-|CompartmentDefinition-patient)/

export const exportPlugins: readonly AnyPlugin[] = [
  database,
  stubDefinitions(DEFINITIONS, PARAMETERS),
  ...fhirPlugins,
  jobs,
  exportPlugin,
]

export interface Answered {
  readonly status: number
  readonly headers: Record<string, any>
  readonly text: string
  readonly raw: Buffer
  readonly json: Json
}

export interface ExportClinic {
  readonly server: TestServer
  readonly dir: string
  ask(
    method: string,
    url: string,
    body?: Json | string,
    headers?: Record<string, string>,
    token?: TestToken,
  ): Promise<Answered>
  put(...resources: readonly Json[]): Promise<void>
  /** Kicks off, and gives the address of the job, from the root. */
  start(url: string, headers?: Record<string, string>, token?: TestToken): Promise<string>
  /** The answer to a job that has ended. */
  end(job: string, token?: TestToken): Promise<Answered>
  /** Lines of all files of a list of the manifest, parsed. */
  lines(manifest: Json, list?: 'output' | 'deleted' | 'error', token?: TestToken): Promise<readonly Json[]>
  /** Ids of what an export holds, sorted, with their types. */
  exported(url: string, headers?: Record<string, string>, token?: TestToken): Promise<string>
  stop(): Promise<void>
}

export interface ClinicOptions extends TestServerOptions {
  /** Plugins in front of the others. */
  readonly more?: readonly AnyPlugin[]
  readonly dir?: string
}

const pathOf = (url: string): string => url.replace(/^https?:\/\/[^/]+/, '')
export const named = ({ resourceType, id }: Json): string => `${resourceType}/${id}`

export const exportClinic = async ({
  more = [],
  dir: given,
  settings,
  ...options
}: ClinicOptions = {}): Promise<ExportClinic> => {
  const dir = given ?? mkdtempSync(join(tmpdir(), 'refhir-export-'))
  const server = await serverWith({
    ...options,
    plugins: [...more, ...exportPlugins],
    settings: { conformance: { update_as_create: true }, export: { dir }, ...settings },
  })
  const ask: ExportClinic['ask'] = async (method, url, body, headers = {}, token = {}) => {
    const answer = await server.inject({
      method: method as 'GET',
      url,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/fhir+json' }),
        ...tokenHeaders(token),
        ...headers,
      },
      ...(body === undefined ? {} : { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    return {
      status: answer.statusCode,
      headers: answer.headers,
      text: answer.body,
      raw: answer.rawPayload,
      get json() {
        return answer.json() as Json
      },
    }
  }
  const start: ExportClinic['start'] = async (url, headers, token) => {
    const {
      status,
      headers: sent,
      text,
    } = await ask('GET', url, undefined, { prefer: 'respond-async', ...headers }, token)
    if (status !== 202) throw new Error(`${url}: ${status} ${text}`)
    return pathOf(sent['content-location'])
  }
  const end: ExportClinic['end'] = async (job, token) => {
    let last: Answered | undefined
    await until(
      async () => {
        last = await ask('GET', job, undefined, {}, token)
        return last.status !== 202 && last.status !== 429
      },
      20_000,
      `${job} to end`,
    )
    return last as Answered
  }
  const lines: ExportClinic['lines'] = async (manifest, list = 'output', token) => {
    const found: Json[] = []
    for (const { url, count, type } of manifest[list] ?? []) {
      const { status, text } = await ask('GET', pathOf(url), undefined, {}, token)
      if (status !== 200) throw new Error(`${url}: ${status} ${text}`)
      const own = text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Json)
      if (!text.endsWith('\n') || own.length !== count) throw new Error(`${url} has ${own.length} lines, not ${count}`)
      if (own.some(({ resourceType }) => resourceType !== type)) throw new Error(`${url} is not of ${type}`)
      found.push(...own)
    }
    return found
  }
  return {
    ...{ server, dir, ask, start, end, lines },
    async put(...resources) {
      for (const one of resources) {
        const { status, text } = await ask('PUT', `/${named(one)}`, one, {}, { scope: 'system/*.cruds' })
        if (status >= 300) throw new Error(text)
      }
    },
    async exported(url, headers, token) {
      const { status, json } = await end(await start(url, headers, token), token)
      if (status !== 200) throw new Error(JSON.stringify(json))
      return (await lines(json, 'output', token)).map(named).sort().join(' ')
    },
    async stop() {
      await server.stop()
      if (given === undefined) rmSync(dir, { recursive: true, force: true })
    },
  }
}

export const patient = (id: string, more: Json = {}): Json => ({ resourceType: 'Patient', id, ...more })
export const observation = (id: string, of: string, more: Json = {}): Json => ({
  resourceType: 'Observation',
  id,
  status: 'final',
  code: { text: 'x' },
  subject: { reference: `Patient/${of}` },
  ...more,
})
export const group = (id: string, ...members: readonly string[]): Json => ({
  resourceType: 'Group',
  id,
  type: 'person',
  actual: true,
  member: members.map((one) => ({ entity: { reference: `Patient/${one}` } })),
})

/** A plugin that holds each export up once it has read a type, until `release` is called. */
export const holdingUp = (): { readonly plugin: AnyPlugin; readonly held: () => number; release(): void } => {
  const { promise, resolve } = Promise.withResolvers<void>()
  let held = 0
  return {
    held: () => held,
    release: resolve,
    plugin: definePlugin({
      name: 'holding-up',
      setup({ hooks }) {
        hooks.onAudit.tapPromise('hold', async ({ request }) => {
          if (request.url !== '/-/export') return
          held += 1
          await promise
        })
      },
    }),
  }
}
export { scopedCallers }
