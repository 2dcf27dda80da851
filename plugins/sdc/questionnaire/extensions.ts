/** The extensions of Questionnaires that this plugin reads, and how they are read. */
import { isObject, type Json, objectsIn, textOf } from './json.ts'

const SDC = 'http://hl7.org/fhir/uv/sdc/StructureDefinition/sdc-questionnaire-'
const FHIR = 'http://hl7.org/fhir/StructureDefinition/'

/** Canonical URLs, by a short name. */
export const URLS = {
  allocateId: `${SDC}extractAllocateId`,
  assembleContext: `${SDC}assembleContext`,
  assembledFrom: `${SDC}assembledFrom`,
  assembleExpectation: `${SDC}assemble-expectation`,
  definitionExtract: `${SDC}definitionExtract`,
  definitionExtractValue: `${SDC}definitionExtractValue`,
  enableWhenExpression: `${SDC}enableWhenExpression`,
  initialExpression: `${SDC}initialExpression`,
  itemExtractionContext: `${SDC}itemExtractionContext`,
  itemPopulationContext: `${SDC}itemPopulationContext`,
  launchContext: `${SDC}launchContext`,
  library: `${FHIR}cqf-library`,
  maxDecimalPlaces: `${FHIR}maxDecimalPlaces`,
  maxOccurs: `${FHIR}questionnaire-maxOccurs`,
  maxQuantity: `${SDC}maxQuantity`,
  maxSize: `${FHIR}maxSize`,
  maxValue: `${FHIR}maxValue`,
  mimeType: `${FHIR}mimeType`,
  minLength: `${FHIR}minLength`,
  minOccurs: `${FHIR}questionnaire-minOccurs`,
  minQuantity: `${SDC}minQuantity`,
  minValue: `${FHIR}minValue`,
  observationCategory: `${SDC}observation-extract-category`,
  observationExtract: `${SDC}observationExtract`,
  observationLinkPeriod: `${SDC}observationLinkPeriod`,
  questionnaireConstraint: `${FHIR}questionnaire-constraint`,
  referenceResource: `${FHIR}questionnaire-referenceResource`,
  sourceQueries: `${SDC}sourceQueries`,
  sourceStructureMap: `${SDC}sourceStructureMap`,
  subQuestionnaire: `${SDC}subQuestionnaire`,
  targetConstraint: `${FHIR}targetConstraint`,
  targetStructureMap: `${SDC}targetStructureMap`,
  templateExtract: `${SDC}templateExtract`,
  templateExtractBundle: `${SDC}templateExtractBundle`,
  templateExtractContext: `${SDC}templateExtractContext`,
  templateExtractValue: `${SDC}templateExtractValue`,
  unit: `${FHIR}questionnaire-unit`,
  variable: `${FHIR}variable`,
} as const

export const extensionsOf = (element: Json | undefined, url: string): readonly Json[] =>
  objectsIn(element?.extension).filter((one) => one.url === url)

/** The name of the member that holds the value, such as `valueCode`; undefined where there is none. */
export const valueKeyOf = (element: Json): string | undefined =>
  Object.keys(element).find((key) => key.startsWith('value'))

/** The value of an extension, of whatever type. */
export const valueIn = (extension: Json | undefined): unknown => {
  const key = extension === undefined ? undefined : valueKeyOf(extension)
  return key === undefined ? undefined : extension?.[key]
}

/** The value of the first extension with the URL. */
export const extensionValue = (element: Json | undefined, url: string): unknown =>
  valueIn(extensionsOf(element, url)[0])

/** The value of a part of an extension that consists of parts. */
export const partOf = (extension: Json, name: string): unknown => extensionValue(extension, name)

/** A value of the data type Expression. */
export interface Expression {
  readonly name?: string | undefined
  readonly language: string
  readonly expression: string
}

export const FHIRPATH = 'text/fhirpath'
export const FHIR_QUERY = 'application/x-fhir-query'

/** Reads an Expression, or a string that is FHIRPath. Undefined where there is no expression in it. */
export const readExpression = (value: unknown): Expression | undefined => {
  if (typeof value === 'string') return { language: FHIRPATH, expression: value }
  if (!isObject(value)) return undefined
  const expression = textOf(value.expression)
  if (expression === undefined) return undefined
  return { name: textOf(value.name), language: textOf(value.language) ?? FHIRPATH, expression }
}

/** The variables that an element declares, in their order. */
export const variablesOf = (element: Json): readonly (Expression & { readonly name: string })[] =>
  extensionsOf(element, URLS.variable).flatMap((one) => {
    const read = readExpression(valueIn(one))
    return read?.name === undefined ? [] : [{ ...read, name: read.name }]
  })
