/** Expressions that cannot be turned into paths are evaluated by fhirpath.js, which is loaded only when there is one. */
import { loadEngine } from '../load-engine.ts'

/** A value an expression selects, with its FHIR type. */
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

/** The engine's numbers are objects of its own; JSON knows them as what they are. */
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

/** `refersTo('X')` stands for `resolve() is X`, told from the reference's text: nothing is fetched. */
const refersTo = (nodes: readonly unknown[], type: string): boolean[] =>
  nodes.map((node) => {
    // A function of ours is given plain JSON, not the engine's nodes.
    const value = node as { reference?: string; type?: string } | string | undefined
    const text = typeof value === 'string' ? value : value?.reference
    if (typeof text === 'string' && new RegExp(`(^|/)${type}/[^/]+(/_history/[^/]+)?$`).test(text)) return true
    return typeof value === 'object' && value?.type === type
  })

/** Loads the engine; compiled expressions answer at once from then on. */
export const loadPathInterpreter = async (): Promise<(expression: string) => InterpretedNodes> => {
  const engine = await loadEngine()
  return (expression) => {
    const text = expression
      .replace(/resolve\(\)\s+is\s+([A-Za-z]+)/g, "refersTo('$1')")
      .replace(/hasExtension\(/g, 'extension(')
      // On a collection R4 means by `as` what FHIRPath calls ofType.
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
