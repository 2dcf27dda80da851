/**
 * The path of a discriminator, in the part of FHIRPath that R4 allows there.
 * https://hl7.org/fhir/R4/profiling.html#discriminator
 */

export type SlicingStep =
  | { readonly kind: 'child'; readonly name: string }
  | { readonly kind: 'extension'; readonly url: string }
  | { readonly kind: 'type'; readonly name: string }
  | { readonly kind: 'resolve' }

const STEP =
  /^(?:\$this|resolve\(\)|ofType\(([^)]+)\)|extension\(\s*(['"])(.*?)\2\s*\)|([A-Za-z][A-Za-z0-9]*)(?:\[x\])?)(?:\.|$)/

/** Parses the restricted FHIRPath of a discriminator; undefined if the path is outside of it. */
export const stepsOf = (path: string): readonly SlicingStep[] | undefined => {
  const steps: SlicingStep[] = []
  let rest = path
  while (rest !== '') {
    const match = STEP.exec(rest)
    if (match === null) return undefined
    const [whole, type, , url, name] = match
    if (type !== undefined) steps.push({ kind: 'type', name: type })
    else if (url !== undefined) steps.push({ kind: 'extension', url })
    else if (name !== undefined) steps.push({ kind: 'child', name })
    else if (whole.startsWith('resolve')) steps.push({ kind: 'resolve' })
    rest = rest.slice(whole.length)
  }
  return steps
}
