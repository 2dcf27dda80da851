/** What a thread of another plugin needs to evaluate FHIRPath: fhirpath.js, and the list of what it may be given. */
export { hasNoSideEffects } from './fhirpath/invariant/has-no-side-effects.ts'
export { type Engine, loadEngine } from './fhirpath/load-engine.ts'
