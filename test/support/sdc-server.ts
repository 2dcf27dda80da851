/** A server with the plugin sdc, as if its package were installed, and short ways to ask it. */
import * as assert from 'uvu/assert'
import type { AnyPlugin, KernelOptions } from '../../kernel/index.ts'
import database from '../../plugins/database/index.ts'
import sdc from '../../plugins/sdc/index.ts'
import terminology from '../../plugins/terminology/index.ts'
import validation from '../../plugins/validation/index.ts'
import { fhirPlugins } from './fhir-plugins.ts'
import { formDefinitions } from './form-definitions.ts'
import { moreDefinitions } from './more-definitions.ts'
import { serverWith, type TestServer } from './server-with.ts'

export type Json = Record<string, any>

/** Only its name and version count: the tests make the forms that they need. */
export const sdcPackage = (base: AnyPlugin = formDefinitions): AnyPlugin =>
  moreDefinitions(base, 'hl7.fhir.uv.sdc', '4.0.0', [], { isKept: true })

export interface Answered {
  readonly status: number
  readonly json: Json
  readonly text: string
}

export interface SdcServer {
  readonly server: TestServer
  get(url: string, headers?: Record<string, string>): Promise<Answered>
  post(url: string, body: Json, headers?: Record<string, string>): Promise<Answered>
  /** PUT, which has to succeed. */
  put(resource: Json): Promise<void>
}

export interface SdcServerOptions {
  readonly definitions?: AnyPlugin
  readonly others?: readonly AnyPlugin[]
  readonly conformance?: Json
  readonly clock?: KernelOptions['clock']
}

export const sdcServer = async ({
  definitions = sdcPackage(),
  others = [],
  conformance = {},
  clock,
}: SdcServerOptions = {}): Promise<SdcServer> => {
  const server = await serverWith({
    plugins: [database, definitions, validation, ...fhirPlugins, terminology, sdc, ...others],
    settings: { conformance: { update_as_create: true, ...conformance } },
    ...(clock === undefined ? {} : { clock }),
  })
  const ask = async (method: 'GET' | 'POST' | 'PUT', url: string, body?: Json, more = {}): Promise<Answered> => {
    const headers = { 'content-type': 'application/fhir+json', ...more }
    const payload = body === undefined ? {} : { payload: JSON.stringify(body) }
    const answer = await server.inject({ method, url, headers, ...payload })
    return { status: answer.statusCode, json: answer.body === '' ? {} : (answer.json() as Json), text: answer.body }
  }
  return {
    server,
    get: (url, headers) => ask('GET', url, undefined, headers),
    post: (url, body, headers) => ask('POST', url, body, headers),
    async put(resource) {
      const answered = await ask('PUT', `/${resource.resourceType}/${resource.id}`, resource)
      assert.ok(answered.status < 300, answered.text)
    },
  }
}

/** The part or parameter with this name. */
export const named = (json: Json, name: string): Json | undefined =>
  (json.parameter ?? json.part ?? []).find((one: Json) => one.name === name)

const SDC = 'http://hl7.org/fhir/uv/sdc/StructureDefinition/sdc-questionnaire-'
export const sdcUrl = (name: string): string => `${SDC}${name}`

export const fhirPath = (expression: string, name?: string): Json => ({
  ...(name === undefined ? {} : { name }),
  ...{ language: 'text/fhirpath', expression },
})
export const fhirQuery = (expression: string, name?: string): Json => ({
  ...(name === undefined ? {} : { name }),
  ...{ language: 'application/x-fhir-query', expression },
})
export const initialExpression = (expression: Json): Json => ({
  url: sdcUrl('initialExpression'),
  valueExpression: expression,
})
export const variable = (expression: Json): Json => ({
  url: 'http://hl7.org/fhir/StructureDefinition/variable',
  valueExpression: expression,
})
export const launchContext = (name: string, type: string): Json => ({
  url: sdcUrl('launchContext'),
  extension: [
    { url: 'name', valueCoding: { system: 'http://hl7.org/fhir/uv/sdc/CodeSystem/launchContext', code: name } },
    { url: 'type', valueCode: type },
  ],
})

/** The answers of a response by linkId, in their order. */
export const answersIn = (response: Json): Record<string, unknown[]> => {
  const found: Record<string, unknown[]> = {}
  const visit = (items: readonly Json[] = []): void => {
    for (const { linkId, answer = [], item } of items) {
      for (const one of answer as Json[]) {
        const { item: below, ...value } = one
        found[linkId] = [...(found[linkId] ?? []), ...Object.values(value)]
        visit(below)
      }
      visit(item)
    }
  }
  visit(response.item)
  return found
}
