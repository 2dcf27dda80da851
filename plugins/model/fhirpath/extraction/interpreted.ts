/**
 * Evaluates with fhirpath.js the search expressions that `toPaths` cannot turn into paths. The library is loaded only when
 * there is such an expression.
 */
import { loadEngine } from '../load-engine.ts'

/** A value that an expression selects, with its FHIR type. */
export interface TypedValue {
  readonly type: string
  readonly value: unknown
}

export type InterpretedNodes = (resource: Record<string, unknown>) => readonly TypedValue[]

interface ResourceNode {
  readonly data?: unknown
  readonly fhirNodeDataType?: string
}

const PRIMITIVES: Readonly<Record<string, string>> = { boolean: 'boolean', string: 'string', number: 'decimal' }

/** fhirpath.js returns objects of its own for some values, such as numbers; `toJSON` gives the plain value. */
const unwrap = (value: unknown): unknown => {
  const { toJSON } = (typeof value === 'object' && value !== null ? value : {}) as { toJSON?: () => unknown }
  return typeof toJSON === 'function' ? toJSON.call(value) : value
}

const toTyped = (node: unknown): TypedValue => {
  const { data, fhirNodeDataType } = (typeof node === 'object' && node !== null ? node : {}) as ResourceNode
  if (fhirNodeDataType !== undefined && fhirNodeDataType !== null)
    return { type: fhirNodeDataType, value: unwrap(data) }
  const value = unwrap(node)
  return { type: PRIMITIVES[typeof value] ?? 'string', value: typeof value === 'object' ? String(value) : value }
}

/** `refersTo('X')` replaces `resolve() is X`. It decides by the text of the reference, so that nothing is fetched. */
const refersTo = (nodes: readonly unknown[], type: string): boolean[] =>
  nodes.map((node) => {
    // fhirpath.js passes plain JSON to user functions, not its own nodes.
    const value = node as { reference?: string; type?: string } | string | undefined
    const text = typeof value === 'string' ? value : value?.reference
    if (typeof text === 'string' && new RegExp(`(^|/)${type}/[^/]+(/_history/[^/]+)?$`).test(text)) return true
    return typeof value === 'object' && value?.type === type
  })

/** Loads fhirpath.js once; the functions compiled with it are synchronous. */
export const loadPathInterpreter = async (): Promise<(expression: string) => InterpretedNodes> => {
  const engine = await loadEngine()
  return (expression) => {
    const text = expression
      .replace(/resolve\(\)\s+is\s+([A-Za-z]+)/g, "refersTo('$1')")
      .replace(/hasExtension\(/g, 'extension(')
      // R4 writes `as` for collections too, where FHIRPath would need `ofType`.
      .replace(/\bas\(/g, 'ofType(')
      .replace(/\(([A-Za-z.]+) as ([A-Za-z]+)\)/g, '$1.ofType($2)')
      .replace(/([A-Za-z.]+) as ([A-Za-z]+)/g, '$1.ofType($2)')
    const run = engine.compile(text, {
      resolveInternalTypes: false,
      userInvocationTable: { refersTo: { fn: refersTo, arity: { 1: ['String'] } } },
    })
    return (resource) => run(resource).map(toTyped)
  }
}
