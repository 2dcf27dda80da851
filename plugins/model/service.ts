/** What other plugins may import from model: JSON, dates, decimals, types, references and FHIRPath. */
export type { ResourceType, TypeCatalog } from './catalog.ts'
export { compareDateTimes } from './date/compare-date-times.ts'
export { type DateBounds, MAX_TIME, MIN_TIME, readDateBounds } from './date/date-bounds.ts'
export { readDateRange } from './date/date-range.ts'
export { isDate, isDateTime, isInstant, isTime } from './date/is-date-time.ts'
export { type DecimalRange, type NoRange, readDecimalRange } from './decimal/implicit-precision.ts'
export {
  add,
  compareRatios,
  decimal,
  divide,
  MAX_DIGITS,
  magnitude,
  multiply,
  type Ratio,
  readRatio,
  subtract,
} from './decimal/ratio.ts'
export { NotUtf8, UnknownType } from './errors.ts'
export { type InterpretedNodes, loadPathInterpreter } from './fhirpath/extraction/interpreted.ts'
export { readPathExpression } from './fhirpath/extraction/path-expression.ts'
export {
  type ElementPath,
  NeedsInterpreter,
  type PathStep,
  type PathTest,
  toPaths,
} from './fhirpath/extraction/paths.ts'
export { BudgetExceeded, type EvaluationBudget, MAX_COST } from './fhirpath/invariant/budget.ts'
export type { StaticType } from './fhirpath/invariant/code.ts'
export { loadInterpreter } from './fhirpath/invariant/interpreter.ts'
export {
  createInvariants,
  type Interpreter,
  type Invariant,
  type InvariantSubject,
  isCheckedNatively,
} from './fhirpath/invariant/invariants.ts'
export { staticTypeOf } from './fhirpath/invariant/static-type.ts'
export { Pending, type TypeFieldsOf } from './fhirpath/invariant/type-fields-of.ts'
export { deepEqual } from './fhirpath/invariant/values.ts'
export { type Expression, print, unionOperands } from './fhirpath/parse.ts'
export {
  choiceIn,
  type PatchStep,
  type PatchTarget,
  parsePatchPath,
  resolve as resolvePath,
} from './fhirpath/patch-path/patch-path.ts'
export { isResourceId } from './is-id.ts'
export {
  copyExact,
  decimalText,
  equalExact,
  isObject,
  isRounded,
  keepDigits,
  parseExact,
} from './json/exact.ts'
export { type Outline, outlineOf } from './json/outline.ts'
export { type ParsedResource, parseJson, parseResource, parseResourceText } from './json/parse.ts'
export { objectFromPieces, parseLazily, piecesOf } from './json/parse-lazily.ts'
export { itemsAt, membersAt, skipSpace } from './json/ranges.ts'
export { findMember, type JsonMember } from './json/scan.ts'
export { type ResourceTemplate, type Slots, slotsOf, templateOf, toResourceTemplate } from './json/template.ts'
export { topLevelStrings } from './json/top-level-strings.ts'
export { Model } from './model.ts'
export type { ReferencePaths } from './references/compile-reference-paths.ts'
export { isOwnBase } from './references/is-own-base.ts'
export { readLiteral } from './references/literal.ts'
export { createLocalTargets } from './references/local-targets.ts'
export type { ReadReference, Target } from './references/read-reference.ts'
export { readReferences } from './references/read-references.ts'
export { createReferenceWalker, type ReferenceWalker } from './references/reference-walker.ts'
export { type ReferenceKind, type Resolve, rewriteReferences } from './references/rewrite.ts'
export { createElements, type ElementShape, type Elements, NotLoaded, type Place } from './snapshot/element-index.ts'
export {
  type ElementBlock,
  type ElementRules,
  type Field,
  type FieldMember,
  type FieldType,
  fieldsOf,
  jsonNames,
  type TypeFields,
} from './snapshot/fields.ts'
export {
  type ContextType,
  createMembers,
  type Members,
} from './snapshot/members.ts'
export { childOf, type ElementNode, readSnapshot } from './snapshot/read-snapshot.ts'
export {
  type Constraint,
  type DefinitionSource,
  type Discriminator,
  type ElementDefinition,
  type Slicing,
  type StructureDefinition,
  type TypeReference,
  typeUrl,
} from './snapshot/structure-definition.ts'
export { typeOf } from './type-of.ts'
export { createXmlCodec, type XmlCodec } from './xml/codec.ts'
export { FHIR_NAMESPACE } from './xml/text.ts'
