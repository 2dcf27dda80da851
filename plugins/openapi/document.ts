/** Puts the document together. https://spec.openapis.org/oas/v3.1.1 */
import type { ListedRoute } from '../../kernel/index.ts'
import type { Operation } from '../fhir/service.ts'
import type { CapabilityStatement } from './capability-statement.ts'
import { type Json, parametersOf, responsesOf, schemasOf } from './components.ts'
import { addOperationPaths } from './operation-paths.ts'
import { addOtherPaths } from './other-paths.ts'
import { createPathTable } from './path-table.ts'
import { addResourcePaths } from './resource-paths.ts'
import { isOpen, securityOf } from './security.ts'

export interface DocumentParts {
  readonly statement: CapabilityStatement
  readonly operations: readonly Operation[]
  readonly resultParameters: readonly string[]
  readonly routes: readonly ListedRoute[]
  readonly baseUrl: string
}

const DESCRIPTION =
  'Made from the registered routes, operations and search parameters, and the installed packages. /metadata says the same to FHIR clients, with profiles. Search parameters take modifiers, prefixes and chains besides.'

export const toDocument = ({ statement, operations, resultParameters, routes, baseUrl }: DocumentParts): Json => {
  const taken = routes.filter(({ config }) => config.isRefusal !== true)
  const table = createPathTable(taken)
  addResourcePaths(table, statement, resultParameters)
  addOperationPaths(table, statement, operations)
  addOtherPaths(table, taken)
  const { schemes, security } = securityOf(statement)
  const open = taken.filter(isOpen)
  const paths = Object.fromEntries(
    Object.entries(table.paths).map(([path, item]) => {
      if (security.length === 0 || !open.some((route) => table.isOf(route, path))) return [path, item]
      const unsecured = Object.entries(item as Json).map(([method, operation]) => [
        method,
        { ...(operation as Json), security: [] },
      ])
      return [path, Object.fromEntries(unsecured)]
    }),
  )
  const types = (statement.rest[0]?.resource ?? []).map(({ type }) => type)
  return {
    openapi: '3.1.1',
    info: {
      title: 'refhir',
      version: statement.software.version,
      summary: `FHIR ${statement.fhirVersion}`,
      description: DESCRIPTION,
    },
    servers: [{ url: baseUrl }],
    ...(security.length > 0 && { security }),
    paths,
    components: {
      schemas: schemasOf(types),
      parameters: parametersOf(statement, resultParameters),
      responses: responsesOf(statement),
      ...(security.length > 0 && { securitySchemes: schemes }),
    },
  }
}
