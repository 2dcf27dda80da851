/** fhirpath.js with the model of R4, loaded when first needed: it takes 60 MB and a tenth of a second. */
import type { Interpreter } from './invariants.ts'

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

export const loadInterpreter = async (): Promise<Interpreter> => {
  const [{ default: fhirpath }, { default: model }] = await Promise.all([
    import('fhirpath'),
    import('fhirpath/fhir-context/r4'),
  ])
  return {
    compile(expression, base) {
      const evaluate = fhirpath.compile({ base, expression }, model, { async: false, traceFn: () => undefined })
      return (value, variables) => quietly(() => evaluate(value, variables) as unknown[])
    },
  }
}
