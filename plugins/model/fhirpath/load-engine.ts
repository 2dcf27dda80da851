/**
 * Loads fhirpath.js with the model of R4. This takes 60 MB and a tenth of a second, so it is done only when an expression
 * needs it. https://github.com/HL7/fhirpath.js
 */

export interface Engine {
  /** Throws for text that is not FHIRPath. The function that it returns throws when an operator is not defined for a value. */
  compile(
    expression: string | { readonly base: string; readonly expression: string },
    options: Readonly<Record<string, unknown>>,
  ): (value: unknown, variables?: Record<string, unknown>) => unknown[]
}

/**
 * Runs `work` with console.log silenced: the UCUM library of fhirpath.js prints units that it cannot read. They are text of
 * clients, which must not get into the log.
 */
const quietly = <T>(work: () => T): T => {
  const { log } = console
  console.log = () => undefined
  try {
    return work()
  } finally {
    console.log = log
  }
}

export const loadEngine = async (): Promise<Engine> => {
  const [{ default: fhirpath }, { default: model }] = await Promise.all([
    import('fhirpath'),
    import('fhirpath/fhir-context/r4'),
  ])
  return {
    compile(expression, options) {
      const evaluate = fhirpath.compile(expression as string, model, { async: false, ...options } as never)
      return (value, variables) => quietly(() => evaluate(value, variables) as unknown as unknown[])
    },
  }
}
