/**
 * Fastify's own compilers of route schemas, loaded with the first schema. The routes of first-party plugins check what they are
 * given themselves, and loading ajv takes a twelfth of the CPU time of a start.
 */
import { createRequire } from 'node:module'
import type { FastifySchemaCompiler, FastifyServerOptions } from 'fastify'

type SchemaController = NonNullable<FastifyServerOptions['schemaController']>
type Build = (...given: readonly unknown[]) => FastifySchemaCompiler<HeadersSchema>

interface HeadersSchema {
  readonly properties?: Readonly<Record<string, unknown>>
  readonly required?: readonly string[]
}

const lower = (name: string): string => name.toLowerCase()

/** Node gives the names of header fields in lower case. Fastify writes those of a schema so only for its own compilers. */
const withLowerCaseNames = ({ properties, required, ...others }: HeadersSchema): HeadersSchema => ({
  ...others,
  ...(properties && {
    properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [lower(name), one])),
  }),
  ...(required && { required: required.map(lower) }),
})

/** Options of Fastify. */
export const schemaOptions = (): Pick<FastifyServerOptions, 'schemaController' | 'ajv'> => {
  // Dependencies of Fastify, so they are resolved from where it is.
  const load = (name: string) => createRequire(import.meta.resolve('fastify'))(name)()
  let validators: Build | undefined
  let serializers: Build | undefined
  const buildValidator: Build = (...given) => {
    validators ??= load('@fastify/ajv-compiler') as Build
    const compile = validators(...given)
    return ({ schema, ...route }) =>
      compile({ ...route, schema: route.httpPart === 'headers' ? withLowerCaseNames(schema) : schema })
  }
  const buildSerializer: Build = (...given) => {
    serializers ??= load('@fastify/fast-json-stringify-compiler') as Build
    return serializers(...given)
  }
  // Their types are those of ajv and fast-json-stringify, which say nothing of the part of the request.
  const schemaController = { compilersFactory: { buildValidator, buildSerializer } } as unknown as SchemaController
  // A request with properties that a schema does not allow is refused; by default ajv removes them.
  return { schemaController, ajv: { customOptions: { removeAdditional: false } } }
}
