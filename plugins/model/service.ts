/** What model offers to other plugins: JSON, dates, decimals, types, references and FHIRPath, each from its own file. */
export type { Catalog, ResourceType } from './catalog.ts'
export { EARLIEST, LATEST, type Range, readMoment } from './date/date-bounds.ts'
export { readSpan } from './date/date-range.ts'
export { isDate, isDateTime, isInstant, isTime } from './date/is-date-time.ts'
export { type NumberValue, readNumber } from './decimal/implicit-precision.ts'
export {
  add,
  compareRatios,
  decimal,
  divide,
  magnitude,
  multiply,
  type Ratio,
  readRatio,
  subtract,
} from './decimal/ratio.ts'
export { NotUtf8, UnknownType } from './errors.ts'
export { loadExotic, type Nodes } from './fhirpath/extraction/interpreted.ts'
export { type Branch, Exotic, type Step, type Test, toBranches } from './fhirpath/extraction/paths.ts'
export { MOST_WORK, TooCostly, type Work } from './fhirpath/invariant/budget.ts'
export type { Kind as ValueKind } from './fhirpath/invariant/code.ts'
export { Pending, type Shapes as InvariantShapes } from './fhirpath/invariant/compile.ts'
export { loadEngine } from './fhirpath/invariant/interpreter.ts'
export {
  createInvariants,
  type Engine,
  type Invariant,
  isLeftOut,
  type Subject,
} from './fhirpath/invariant/invariants.ts'
export { compareMoments, deepEqual } from './fhirpath/invariant/values.ts'
export { type Expression, parseExpression, spell, unionParts } from './fhirpath/parse.ts'
export {
  choiceIn,
  follow as followPath,
  readPath,
  type Spot,
  type Step as PatchStep,
} from './fhirpath/patch-path/patch-path.ts'
export { isId } from './is-id.ts'
export {
  copyExactly,
  digitsOf,
  equalExactly,
  isExactObject,
  isRounded,
  keepDigits,
  parseExactly,
} from './json/exact.ts'
export { type Outline, outlineOf } from './json/outline.ts'
export { type ReadResource, readJson, readResource } from './json/parse.ts'
export { objectFromPieces, parseLazily, piecesOf } from './json/parse-lazily.ts'
export { itemsAt, membersAt, skipSpace } from './json/ranges.ts'
export type { Member } from './json/scan.ts'
export { type Slots, slotsOf, type Template, templateOf, toTemplate } from './json/template.ts'
export { topLevelStrings } from './json/top-level-strings.ts'
export { Model } from './model.ts'
export type { StoredLinks } from './references/compile-reference-paths.ts'
export { isOwnBase } from './references/is-own-base.ts'
export { readLiteral } from './references/literal.ts'
export { createInside } from './references/local-targets.ts'
export type { ReadReference, Target } from './references/read-reference.ts'
export { readReferences } from './references/read-references.ts'
export { createLinks, type Links } from './references/reference-walker.ts'
export { type LinkKind, type Resolve, rewriteLinks } from './references/rewrite.ts'
export { createElements, type ElementShape, type Elements, NotLoaded, type Place } from './snapshot/element-index.ts'
export {
  type Block,
  type ElementRules,
  type Field,
  type FieldType,
  jsonNames,
  type Member as FieldMember,
  type Shape,
  shapeOf,
} from './snapshot/fields.ts'
export {
  type Context,
  createShapes,
  type Shapes,
  type StructureDefinition as StructureSnapshot,
} from './snapshot/members.ts'
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
