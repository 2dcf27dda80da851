/**
 * Generates JavaScript source that checks the structure of a type: one function per block, with a loop over the members of the
 * object and a switch on their names. A function returns null for a valid object, else faults with paths relative to it. The
 * check of a valid resource therefore allocates no paths, arrays or closures.
 *
 * Variables in the source: o the object, k the name of a member, v its value, x an item of an array, f the faults so far, g the
 * faults of a nested object, n the number of members, c the context of the run, r0… bits of the required elements that are
 * present, t0… which type of a choice is present.
 */
import {
  type ElementBlock,
  type ElementRules,
  type Field,
  type FieldType,
  jsonNames,
  type TypeFields,
} from '../../model/service.ts'

const q = (text: string): string => JSON.stringify(text)

/** For each primitive, an expression that is true if the value `$` is NOT valid. */
const NOT: Readonly<Record<string, string>> = {
  boolean: '($ !== true && $ !== false)',
  decimal: '!Number.isFinite($)',
  integer: '(!Number.isInteger($) || $ < -2147483648 || $ > 2147483647)',
  positiveInt: '(!Number.isInteger($) || $ < 1 || $ > 2147483647)',
  unsignedInt: '(!Number.isInteger($) || $ < 0 || $ > 2147483647)',
  base64Binary: "(typeof $ !== 'string' || !isBase64($))",
  canonical: "(typeof $ !== 'string' || !isUri($))",
  code: "(typeof $ !== 'string' || !isCode($))",
  date: "(typeof $ !== 'string' || !isDate($))",
  dateTime: "(typeof $ !== 'string' || !isDateTime($))",
  'element-id': "(typeof $ !== 'string' || !isElementId($))",
  id: "(typeof $ !== 'string' || !isId($))",
  instant: "(typeof $ !== 'string' || !isInstant($))",
  markdown: "(typeof $ !== 'string' || !isText($))",
  oid: "(typeof $ !== 'string' || !isOid($))",
  reference: "(typeof $ !== 'string' || (!isUri($) && !isReference($)))",
  'resource-id': "(typeof $ !== 'string' || !isResourceId($))",
  string: "(typeof $ !== 'string' || !isText($))",
  time: "(typeof $ !== 'string' || !isTime($))",
  uri: "(typeof $ !== 'string' || !isUri($))",
  url: "(typeof $ !== 'string' || !isUri($))",
  uuid: "(typeof $ !== 'string' || !isUuid($))",
  xhtml: "(typeof $ !== 'string')",
}

/** For some primitives, a statement that records something about a valid value `$`. */
const NOTE: Readonly<Record<string, string>> = {
  canonical: 'if ($.charCodeAt(0) === 35) c.local($, true);',
  integer: 'c.integers++;',
  positiveInt: 'c.integers++;',
  uri: 'if ($.charCodeAt(0) === 35) c.local($, false);',
  unsignedInt: 'c.integers++;',
  url: 'if ($.charCodeAt(0) === 35) c.local($, false);',
}

/** For some primitives, a statement with further checks of a string `$` whose format is valid. `%` is the expression of its path. */
const DEEPER: Readonly<Record<string, string>> = {
  reference:
    'if ($.charCodeAt(0) === 35) f = localReference(f, %, $); else if ($.charCodeAt(0) === 117 && !isUri($)) f = oddUrn(f, %, $);',
  xhtml: 'f = narrative(f, %, $);',
}

const ELEMENT = 'http://hl7.org/fhir/StructureDefinition/Element'
const EXTENSION = 'http://hl7.org/fhir/StructureDefinition/Extension'

/** A primitive without a test above is checked by the regular expression of its definition, through `other`. */
const notPrimitive = (name: string, value: string): string =>
  (NOT[name] ?? `!other(${q(name)}, $)`).replaceAll('$', () => value)

const note = (name: string, value: string, path: string): string => {
  const statement = NOTE[name] ?? DEEPER[name]
  return statement === undefined ? '' : statement.replaceAll('$', () => value).replaceAll('%', () => path)
}

/** Where the generated code calls the rules of an element, as R[n](f, path, value, index), and which rules these are. */
export interface RuleLocation {
  readonly rules: ElementRules
  readonly block: ElementBlock
  /** Undefined for the rules of the block itself. */
  readonly field: Field | undefined
  /** The type of the field at this location: one of several, if it is a choice. */
  readonly type: FieldType | undefined
}

interface Names {
  /** The statement that calls the rules of an element; empty if it has none. */
  rules(site: RuleLocation, value: string, path: string, index: string): string
  /** The variable with the check function of a type. The generated code looks the function up when it is first called. */
  link(url: string, profile?: string): string
  block(path: string): string
}

const caller = (type: FieldType, names: Names, contained: boolean): string => {
  switch (type.kind) {
    case 'resource':
      return contained ? 'containedResource' : 'anyResource'
    case 'block':
      return names.block(type.path)
    case 'complex':
      return names.link(type.url, type.profile)
    default:
      throw new TypeError('a primitive has no function')
  }
}

/** The `else` branch with the statements for a primitive whose format is valid. */
const otherwise = (...statements: readonly string[]): string => {
  const all = statements.filter((statement) => statement !== '')
  return all.length === 0 ? '' : ` else { ${all.join(' ')} }`
}

/**
 * Statements after the check of a nested object: they add its faults, and run its rules only if it has no errors. Rules must not
 * see an object whose structure is wrong.
 */
const nested = (nest: string, rules: string): string =>
  rules === '' ? `if (g !== null) ${nest};` : `if (g === null || (${nest}, mild(g))) { ${rules} }`

const single = (block: ElementBlock, field: Field, type: FieldType, names: Names): string => {
  const path = q(`.${field.name}`)
  const rules = names.rules({ rules: field.rules, block, field, type }, 'v', path, '-1')
  if (type.kind === 'primitive') {
    const bad = `if (${notPrimitive(type.name, 'v')}) f = primitive(f, ${path}, v, ${q(type.name)});`
    const url = block.path === 'Extension' && field.name === 'url' ? 'c.extension(v);' : ''
    return bad + otherwise(note(type.name, 'v', path), url, rules)
  }
  return `g = ${caller(type, names, false)}(v); ${nested(`f = nest(f, g, ${path})`, rules)}`
}

const items = (block: ElementBlock, field: Field, type: FieldType, names: Names): string => {
  const path = q(`.${field.name}`)
  const rules = names.rules({ rules: field.rules, block, field, type }, 'v[i]', path, 'i')
  if (type.kind === 'primitive') {
    const bad = `primitiveAt(f, ${path}, i, x, ${q(type.name)})`
    const hole = `if (x !== null || !isFilled(o[${q(`_${field.name}`)}], i)) f = ${bad}`
    return `const x = v[i]; if (${notPrimitive(type.name, 'x')}) { ${hole}; }${otherwise(note(type.name, 'x', `${path} + '[' + i + ']'`), rules)}`
  }
  const contained = field.name === 'contained' && type.kind === 'resource'
  const call = contained ? 'containedResource(v[i], i)' : `${caller(type, names, contained)}(v[i])`
  return `g = ${call}; ${nested(`f = nestAt(f, g, ${path}, i)`, rules)}`
}

const list = (block: ElementBlock, field: Field, type: FieldType, names: Names): string => {
  const path = q(`.${field.name}`)
  const most =
    field.max < Infinity ? ` if (v.length > ${field.max}) f = tooMany(f, ${path}, v.length, ${field.max});` : ''
  return `if (!Array.isArray(v) || v.length === 0) f = notList(f, ${path}, v); else {${most} for (let i = 0; i < v.length; i++) { ${items(block, field, type, names)} } }`
}

const sibling = (field: Field, name: string, names: Names): string => {
  const path = q(`.${field.name}`)
  const element = names.link(ELEMENT)
  return field.list
    ? `f = siblings(f, ${path}, v, o[${q(name)}], (e) => ${element}(e));`
    : `g = ${element}(v); if (g !== null) f = nest(f, g, ${path}); else if (o[${q(name)}] === undefined && v.extension === undefined) f = idOnly(f, ${path});`
}

interface Locals {
  readonly required: Map<Field, number>
  readonly choices: Map<Field, number>
}

const marks = (field: Field, index: number, locals: Locals): string => {
  const choice = locals.choices.get(field)
  const twice =
    choice === undefined
      ? ''
      : `if (t${choice} !== 0 && t${choice} !== ${index + 1}) f = twice(f, ${q(`.${field.name}`)}); t${choice} = ${index + 1}; `
  const bit = locals.required.get(field)
  return bit === undefined ? twice : `${twice}r${Math.floor(bit / 30)} |= ${2 ** (bit % 30)}; `
}

/** The cases of the switch, by the length of the member name: V8 would compare the names themselves one after the other. */
const cases = (block: ElementBlock, names: Names, locals: Locals): string => {
  const byLength = new Map<number, string[]>()
  const put = (name: string, body: string) => {
    const bodies = byLength.get(name.length) ?? []
    byLength.set(name.length, bodies)
    bodies.push(`if (k === ${q(name)}) { ${body} continue }`)
  }
  for (const field of block.fields) {
    jsonNames(field).forEach(([name, type], index) => {
      const mark = marks(field, index, locals)
      put(name, mark + (field.list ? list(block, field, type, names) : single(block, field, type, names)))
      if (type.kind === 'primitive' && !field.attribute && type.name !== 'xhtml') {
        put(`_${name}`, mark + sibling(field, name, names))
      }
    })
  }
  return [...byLength]
    .map(([length, bodies]) => `case ${length}: ${bodies.join('\n      ')}\n      break`)
    .join('\n    ')
}

const block = (shape: TypeFields, block: ElementBlock, names: Names, isResource: boolean): string => {
  const locals: Locals = { required: new Map(), choices: new Map() }
  for (const field of block.fields) {
    if (field.min > 0) locals.required.set(field, locals.required.size)
    if (field.choice) locals.choices.set(field, locals.choices.size)
  }
  const groups = Math.ceil(locals.required.size / 30)
  const declared = [
    ...Array.from({ length: groups }, (_, group) => `r${group} = 0`),
    ...Array.from(locals.choices.values(), (choice) => `t${choice} = 0`),
  ]
  const incomplete = Array.from({ length: groups }, (_, group) => {
    const size = Math.min(30, locals.required.size - group * 30)
    return `r${group} !== ${2 ** size - 1}`
  }).join(' || ')
  const needs = JSON.stringify(
    [...locals.required.keys()].map((field) => [
      `.${field.name}`,
      jsonNames(field).flatMap(([name]) => [name, `_${name}`]),
    ]),
  )
  const withRules = names.rules({ rules: block.rules, block, field: undefined, type: undefined }, 'o', '""', '-1')
  const isExtension = shape.url === EXTENSION && block.path === 'Extension'
  const after = [
    incomplete === '' ? '' : `if (${incomplete}) f = missing(f, o, ${needs});`,
    isExtension ? 'if ((t0 !== 0) === (o.extension !== undefined)) f = valueXorExtension(f, o);' : '',
    // ele-1: an element needs a value or children besides its id.
    isResource || shape.url === ELEMENT ? '' : 'if (n === 1 && o.id !== undefined) f = idOnly(f, "");',
    withRules === '' ? '' : `if (f === null || mild(f)) { ${withRules} }`,
  ].join(' ')
  return `function ${names.block(block.path)}(o) {
  if (typeof o !== 'object') return notObject(o);
  let f = null, g = null, n = 0${declared.map((variable) => `, ${variable}`).join('')};
  for (const k in o) {
    n++;
    const v = o[k];
    switch (k.length) {
    ${cases(block, names, locals)}
    }
    ${isResource ? "if (k === 'resourceType') continue" : ''}
    if (Array.isArray(o)) return notObject(o);
    f = unknown(f, o, k, ${q(block.path)});
  }
  if (n === 0) return empty(o);
  c.keys += n;
  ${after}
  return f;
}`
}

/** Names that the generated code uses; validator.ts passes their values as `surroundings`. */
export const ENCLOSING_VALUES = [
  'c, isBase64, isUri, isCode, isDate, isDateTime, isId, isInstant, isElementId, isText, isOid, isReference, isResourceId, isTime, isUuid, other',
  'primitive, primitiveAt, nest, nestAt, mild, notObject, empty, notList, tooMany, unknown, twice, missing, idOnly, isFilled',
  'siblings, valueXorExtension, localReference, oddUrn, narrative, anyResource, containedResource, link, notInstalled',
].join(', ')

export interface Generated {
  /** Body of a function with the parameters `surroundings` and `R`, the rules. It returns the check of the type. */
  readonly source: string
  /** For each index of R the location whose rules it must check. */
  readonly sites: readonly RuleLocation[]
}

/** `hasRules` says whether there are rules to check at a location. */
export const generate = (shape: TypeFields, hasRules: (site: RuleLocation) => boolean): Generated => {
  const sites: RuleLocation[] = []
  const links = new Map<string, string>()
  const blocks = new Map<string, string>()
  const names: Names = {
    rules(site, value, path, index) {
      if (!hasRules(site)) return ''
      sites.push(site)
      return `f = R[${sites.length - 1}](f, ${path}, ${value}, ${index});`
    },
    link(url, profile) {
      const key = profile ?? url
      const known = links.get(key)
      if (known !== undefined) return known
      const name = `t$${links.size}`
      links.set(key, name)
      stubs.push(
        `let ${name} = (o) => { const check = link(${q(url)}${profile === undefined ? '' : `, ${q(profile)}`}); if (check === undefined) return notInstalled(${q(url)}); ${name} = check; return check(o); };`,
      )
      return name
    },
    block(path) {
      const known = blocks.get(path)
      if (known !== undefined) return known
      const name = `b$${blocks.size}$${path.replaceAll(/[^A-Za-z0-9]/g, '_')}`
      blocks.set(path, name)
      return name
    },
  }
  const stubs: string[] = []
  const all = [...shape.blocks.values()]
  const functions = all.map((one, index) => block(shape, one, names, shape.kind === 'resource' && index === 0))
  const source = `'use strict'; const { ${ENCLOSING_VALUES} } = surroundings;\n${stubs.join('\n')}\n${functions.join('\n')}\nreturn ${names.block(all[0]!.path)};`
  return { source, sites }
}
