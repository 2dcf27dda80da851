/** fhirpath.js as invariants use it. */
import { loadEngine } from '../load-engine.ts'
import type { Interpreter } from './invariants.ts'

export const loadInterpreter = async (): Promise<Interpreter> => {
  const engine = await loadEngine()
  return { compile: (expression, base) => engine.compile({ base, expression }, { traceFn: () => undefined }) }
}
