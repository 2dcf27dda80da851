/**
 * Decides which resources of a package are definitions. Examples and patient data are not, so installing a directory of
 * examples stores no patients.
 */

// The conformance and terminology modules of R4, https://hl7.org/fhir/R4/modules.html
const CONFORMANCE: ReadonlySet<string> = new Set([
  'CapabilityStatement',
  'CodeSystem',
  'CompartmentDefinition',
  'ConceptMap',
  'GraphDefinition',
  'ImplementationGuide',
  'MessageDefinition',
  'NamingSystem',
  'OperationDefinition',
  'SearchParameter',
  'StructureDefinition',
  'StructureMap',
  'TerminologyCapabilities',
  'ValueSet',
])
// Types that guides publish to be used by canonical URL. In a package of examples they are examples.
const KNOWLEDGE: ReadonlySet<string> = new Set(['Library', 'Questionnaire'])

/** Whether a resource type can be a definition in any package. */
export const mayDefine = (type: string): boolean => CONFORMANCE.has(type) || KNOWLEDGE.has(type)

/** Whether a resource type is a definition in a package whose package.json has this `type`. */
export const defines = (type: string, packageType: string | undefined): boolean =>
  CONFORMANCE.has(type) || (KNOWLEDGE.has(type) && packageType !== 'fhir.examples')

const LEADING_TYPE = /^\s*\{\s*"resourceType"\s*:\s*"([A-Za-z]+)"/

/**
 * The resource type of a JSON text that begins with `resourceType`, from its first bytes: then most files need not be
 * parsed.
 */
export const leadingType = (bytes: Buffer): string | undefined =>
  LEADING_TYPE.exec(bytes.toString('latin1', 0, 512).replace(/^ï»¿/, ''))?.[1]
