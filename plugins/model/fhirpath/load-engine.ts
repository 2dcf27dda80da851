/** fhirpath.js with the model of R4, loaded when first needed: it takes 60 MB and a tenth of a second. https://github.com/HL7/fhirpath.js */

export interface Engine {
  /** Throws for what is no FHIRPath; so does the function, for values an operator is not defined for. */
  compile(
    expression: string | { readonly base: string; readonly expression: string },
    options: Readonly<Record<string, unknown>>,
  ): (value: unknown, variables?: Record<string, unknown>) => unknown[]
}

/** The UCUM library it uses prints units it cannot read, which are a client's text, where the lines of the log go. */
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
