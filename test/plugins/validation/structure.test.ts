/**
 * One fault in each resource: which issue it gives and where. Bad input rows 12, 15 to 21, 23, 24, 26 to 28; a sound
 * resource beside each group shows that it is the fault that is found.
 */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createStructureValidator } from '../../../plugins/validation/structure/validator.ts'
import { r4Definitions } from './r4.ts'

const validator = createStructureValidator(r4Definitions())

type Row = readonly [fault: string, resource: unknown, code: string, expression: string, diagnostics?: RegExp]

const patient = (more: object = {}) => ({ resourceType: 'Patient', ...more })
const json = (text: string) => JSON.parse(text)
const observation = (more: object = {}) => ({
  resourceType: 'Observation',
  status: 'final',
  code: { text: 'Weight' },
  ...more,
})
const extended = (more: object) => patient({ extension: [{ url: 'http://example.org/x', ...more }] })
const div = (inner: string) =>
  patient({ text: { status: 'generated', div: `<div xmlns="http://www.w3.org/1999/xhtml">${inner}</div>` } })
const contains = (contained: unknown, more: object = {}) => patient({ contained: [contained], ...more })
const organization = (more: object = {}) => ({ resourceType: 'Organization', id: 'o', name: 'O', ...more })
const managed = { managingOrganization: { reference: '#o' } }
const huge = 'a'.repeat(1_048_577)

const sound: readonly unknown[] = [
  patient(),
  patient({ id: 'a.b-C9', active: false, gender: 'male', birthDate: '1974-12', name: [{ family: 'F', given: ['G'] }] }),
  patient({
    birthDate: '1974-12-25',
    _birthDate: { id: 'b', extension: [{ url: 'http://x', valueDateTime: '1974-12-25T14:35:45-05:00' }] },
  }),
  patient({ _birthDate: { extension: [{ url: 'http://x', valueCode: 'unknown' }] } }),
  patient({ birthDate: '2000', _birthDate: { id: 'only-an-id' } }),
  patient({
    name: [{ given: ['A', null], _given: [null, { extension: [{ url: 'http://x', valueCode: 'masked' }] }] }],
  }),
  patient({ name: [{ _given: [{ extension: [{ url: 'http://x', valueCode: 'masked' }] }] }] }),
  patient({ deceasedDateTime: '2020', _deceasedDateTime: { id: 'x' }, multipleBirthInteger: 2 }),
  patient({
    managingOrganization: { reference: 'Organization/1' },
    link: [{ other: { reference: 'Patient/2' }, type: 'refer' }],
  }),
  observation({
    _status: { id: 's' },
    valueQuantity: { value: 1.5, comparator: '<' },
    component: [{ code: { text: 'c' }, valueString: 'x' }],
  }),
  json(
    '{"resourceType":"Observation","_status":{"extension":[{"url":"http://x","valueCode":"unknown"}]},"code":{"text":"c"}}',
  ),
  extended({ valueString: 'x' }),
  extended({ extension: [{ url: 'inner', valueBase64Binary: 'AAAA' }] }),
  extended({ valueDateTime: '0001-01-01T00:00:00.123456789+14:00' }),
  extended({ valueDateTime: '2016-12-31T23:59:60Z' }),
  extended({ valueInteger: -2147483648 }),
  extended({ valueString: 'a'.repeat(1_048_576) }),
  extended({ valueDecimal: 0.12345678901234568 }),
  div(
    '<p style="color: red" class="x">a &lt; b &#160;</p><!-- fine --><table border="1"><tr><td colspan="2">c</td></tr></table><br/>',
  ),
  div('<a href="http://example.org/?a=b&amp;c=d">x</a><img src="data:image/png;base64,AAAA" alt="x"/>'),
  contains(organization(), managed),
  contains({
    resourceType: 'Provenance',
    target: [{ reference: '#' }],
    recorded: '2020-01-01T00:00:00Z',
    agent: [{ who: { display: 'x' } }],
  }),
  { resourceType: 'Binary', contentType: 'text/plain', data: 'AAAA' },
  {
    resourceType: 'Bundle',
    type: 'collection',
    entry: [{ fullUrl: 'urn:uuid:53fefa32-fcbb-4ff8-8a92-55ee120877b7', resource: patient() }],
  },
  { resourceType: 'Parameters', parameter: [{ name: 'a', part: [{ name: 'b', resource: patient() }] }] },
  {
    resourceType: 'Questionnaire',
    status: 'draft',
    item: [{ linkId: '1', type: 'group', item: [{ linkId: '2', type: 'string' }] }],
  },
]

const rows: readonly Row[] = [
  // What a resource is.
  ['no resourceType', { id: 'a' }, 'structure', 'Resource.resourceType'],
  ['resourceType of the wrong case', { resourceType: 'patient' }, 'structure', 'Resource.resourceType'],
  ['an unknown resourceType', { resourceType: 'Foo' }, 'structure', 'Resource.resourceType'],
  ['a data type as resourceType', { resourceType: 'HumanName' }, 'structure', 'Resource.resourceType'],
  ['a profile as resourceType', { resourceType: 'bmi' }, 'structure', 'Resource.resourceType'],
  ['the abstract Resource', { resourceType: 'Resource' }, 'structure', 'Resource.resourceType'],
  ['the abstract DomainResource', { resourceType: 'DomainResource' }, 'structure', 'Resource.resourceType'],
  ['resourceType that is a number', { resourceType: 1 }, 'structure', 'Resource.resourceType'],
  ['resourceType that is a path', { resourceType: '../Patient' }, 'structure', 'Resource.resourceType'],
  ['resourceType __proto__', { resourceType: '__proto__' }, 'structure', 'Resource.resourceType'],
  ['an array', [patient()], 'structure', 'Resource'],
  ['a string', 'Patient', 'structure', 'Resource'],
  ['null', null, 'structure', 'Resource'],

  // Elements that are not there (rows 11, 12, 18).
  ['an unknown element', patient({ foo: 1 }), 'structure', 'Patient.foo', /"foo" is not an element of Patient/],
  ['an element of the wrong case', patient({ Gender: 'male' }), 'structure', 'Patient.Gender'],
  [
    'an unknown element deep inside',
    patient({ contact: [{}, { name: { text: 'x', foo: 1 } }].slice(1) }),
    'structure',
    'Patient.contact[0].name.foo',
  ],
  [
    'resourceType inside an element',
    patient({ name: [{ resourceType: 'HumanName', text: 'x' }] }),
    'structure',
    'Patient.name[0].resourceType',
  ],
  ['__proto__ at the root', json('{"resourceType":"Patient","__proto__":{"x":1}}'), 'structure', 'Patient'],
  [
    '__proto__ in an extension',
    json('{"resourceType":"Patient","extension":[{"url":"http://x","valueString":"a","__proto__":1}]}'),
    'structure',
    'Patient.extension[0]',
  ],
  [
    '__proto__ in Parameters',
    json('{"resourceType":"Parameters","parameter":[{"name":"a","valueString":"a","__proto__":{}}]}'),
    'structure',
    'Parameters.parameter[0]',
  ],
  ['constructor', json('{"resourceType":"Patient","constructor":"x"}'), 'structure', 'Patient.constructor'],
  ['prototype', patient({ prototype: {} }), 'structure', 'Patient.prototype'],
  ['toString', json('{"resourceType":"Patient","name":[{"toString":"x"}]}'), 'structure', 'Patient.name[0].toString'],
  ['hasOwnProperty', json('{"resourceType":"Patient","hasOwnProperty":"x"}'), 'structure', 'Patient.hasOwnProperty'],
  ['length', patient({ length: 3 }), 'structure', 'Patient.length'],
  [
    'valueOf in a primitive’s sibling',
    json('{"resourceType":"Patient","birthDate":"2000","_birthDate":{"valueOf":1}}'),
    'structure',
    'Patient.birthDate.valueOf',
  ],
  ['an empty name', patient({ '': 1 }), 'structure', 'Patient'],
  ['the sibling of a complex element', patient({ _name: [{ id: 'x' }] }), 'structure', 'Patient'],
  ['the sibling of a resource’s id', patient({ id: 'a', _id: { id: 'x' } }), 'structure', 'Patient'],
  [
    'the sibling of Extension.url',
    extended({ valueString: 'x', _url: { id: 'x' } }),
    'structure',
    'Patient.extension[0]',
  ],
  ['comments', patient({ fhir_comments: ['x'] }), 'structure', 'Patient'],
  ['an element of another type', patient({ status: 'final' }), 'structure', 'Patient.status'],
  ['the choice element itself', observation({ value: 'x' }), 'structure', 'Observation.value'],
  ['a choice of a type it does not take', observation({ valueDecimal: 1 }), 'structure', 'Observation.valueDecimal'],
  [
    'an element that SimpleQuantity does not take',
    observation({ referenceRange: [{ low: { value: 1, comparator: '<' } }] }),
    'structure',
    'Observation.referenceRange[0].low.comparator',
  ],

  // Choices (row 18).
  [
    'two types of a choice',
    observation({ valueString: 'a', valueInteger: 1 }),
    'structure',
    'Observation.value',
    /more than one type of value\[x\]/,
  ],
  [
    'two types of a choice, one by its extension',
    observation({ valueString: 'a', _valueDateTime: { extension: [{ url: 'http://x', valueCode: 'a' }] } }),
    'structure',
    'Observation.value',
  ],
  [
    'two types of an extension’s value',
    extended({ valueString: 'a', valueCode: 'a' }),
    'structure',
    'Patient.extension[0].value',
  ],
  ['deceased twice', patient({ deceasedBoolean: true, deceasedDateTime: '2020' }), 'structure', 'Patient.deceased'],

  // Cardinality.
  ['a required element is missing', { resourceType: 'Observation', status: 'final' }, 'required', 'Observation.code'],
  [
    'a required code is missing',
    { resourceType: 'Observation', code: { text: 'x' } },
    'required',
    'Observation.status',
  ],
  [
    'a required element inside a block is missing',
    patient({ link: [{ type: 'refer' }] }),
    'required',
    'Patient.link[0].other',
  ],
  [
    'a required element of a data type is missing',
    patient({ text: { status: 'empty' } }),
    'required',
    'Patient.text.div',
  ],
  [
    'a required choice is missing',
    { resourceType: 'MedicationRequest', status: 'active', intent: 'order', subject: { reference: 'Patient/1' } },
    'required',
    'MedicationRequest.medication',
  ],
  [
    'a required list is missing',
    { resourceType: 'Provenance', target: [{ display: 'x' }], recorded: '2020-01-01T00:00:00Z' },
    'required',
    'Provenance.agent',
  ],
  [
    'the url of an extension is missing',
    patient({ extension: [{ valueString: 'x' }] }),
    'required',
    'Patient.extension[0].url',
  ],
  [
    'a required element inside a contentReference is missing',
    { resourceType: 'Questionnaire', status: 'draft', item: [{ linkId: '1', type: 'group', item: [{ linkId: '2' }] }] },
    'required',
    'Questionnaire.item[0].item[0].type',
  ],

  // Arrays and single values (row 16).
  [
    'an array for a single primitive',
    patient({ birthDate: ['2000'] }),
    'structure',
    'Patient.birthDate',
    /an array where a single string/,
  ],
  [
    'an array for a single object',
    patient({ maritalStatus: [{ text: 'x' }] }),
    'structure',
    'Patient.maritalStatus',
    /an array where a single object/,
  ],
  ['an object for an array', patient({ name: { text: 'x' } }), 'structure', 'Patient.name', /an object where an array/],
  ['a string for an array', patient({ name: [{ given: 'x' }] }), 'structure', 'Patient.name[0].given'],
  ['a string for an object', patient({ maritalStatus: 'M' }), 'structure', 'Patient.maritalStatus'],
  ['a string for an object in an array', patient({ name: ['x'] }), 'structure', 'Patient.name[0]'],
  ['an array in an array', patient({ name: [[{ text: 'x' }]] }), 'structure', 'Patient.name[0]'],
  [
    'an array in an array of primitives',
    patient({ name: [{ given: [['x']] }] }),
    'structure',
    'Patient.name[0].given[0]',
  ],
  ['an object for a string', patient({ birthDate: { value: '2000' } }), 'structure', 'Patient.birthDate'],
  ['a number for a string', patient({ name: [{ family: 1 }] }), 'structure', 'Patient.name[0].family'],
  [
    'a number for a string in an array',
    patient({ name: [{ given: ['a', 1] }] }),
    'structure',
    'Patient.name[0].given[1]',
  ],
  ['a string for a boolean', patient({ active: 'true' }), 'structure', 'Patient.active'],
  ['a number for a boolean', patient({ active: 1 }), 'structure', 'Patient.active'],
  ['a string for an integer', patient({ multipleBirthInteger: '2' }), 'structure', 'Patient.multipleBirth'],
  ['a string for a decimal', observation({ valueQuantity: { value: '1.5' } }), 'structure', 'Observation.value.value'],
  ['a boolean for a code', patient({ gender: true }), 'structure', 'Patient.gender'],
  ['a string for a sibling', patient({ birthDate: '2000', _birthDate: 'x' }), 'structure', 'Patient.birthDate'],
  [
    'an array for a sibling',
    patient({ birthDate: '2000', _birthDate: [{ id: 'x' }] }),
    'structure',
    'Patient.birthDate',
  ],
  [
    'an object for an array of siblings',
    patient({ name: [{ given: ['x'], _given: { id: 'x' } }] }),
    'structure',
    'Patient.name[0].given',
  ],
  ['a value inside a sibling', patient({ _birthDate: { value: '2000' } }), 'structure', 'Patient.birthDate.value'],
  ['an array for contained', contains([organization()]), 'structure', 'Patient.contained[0]'],
  [
    'an array for an entry’s resource',
    { resourceType: 'Bundle', type: 'collection', entry: [{ resource: [patient()] }] },
    'structure',
    'Bundle.entry[0].resource',
  ],

  // Nothing where something is expected (row 15).
  ['null for a primitive', patient({ birthDate: null }), 'structure', 'Patient.birthDate'],
  [
    'null for a primitive with a sibling',
    patient({ birthDate: null, _birthDate: { extension: [{ url: 'http://x', valueCode: 'x' }] } }),
    'structure',
    'Patient.birthDate',
  ],
  ['null for an object', patient({ maritalStatus: null }), 'structure', 'Patient.maritalStatus'],
  ['null for an array', patient({ name: null }), 'structure', 'Patient.name'],
  ['null in an array of objects', patient({ name: [null] }), 'structure', 'Patient.name[0]'],
  [
    'null in an array of primitives',
    patient({ name: [{ given: ['a', null] }] }),
    'structure',
    'Patient.name[0].given[1]',
  ],
  [
    'null for both the value and the sibling',
    patient({ name: [{ given: ['a', null], _given: [{ id: 'x' }, null] }] }),
    'structure',
    'Patient.name[0].given[1]',
  ],
  ['null for the only sibling', patient({ name: [{ _given: [null] }] }), 'structure', 'Patient.name[0].given[0]'],
  [
    'fewer siblings than values',
    patient({ name: [{ given: ['a', 'b'], _given: [{ id: 'x' }] }] }),
    'structure',
    'Patient.name[0].given',
  ],
  [
    'more siblings than values',
    patient({ name: [{ given: ['a'], _given: [null, { extension: [{ url: 'http://x', valueCode: 'x' }] }] }] }),
    'structure',
    'Patient.name[0].given',
  ],
  ['null for a sibling', patient({ birthDate: '2000', _birthDate: null }), 'structure', 'Patient.birthDate'],
  ['null for a contained resource', contains(null), 'structure', 'Patient.contained[0]'],
  ['an empty object', patient({ maritalStatus: {} }), 'structure', 'Patient.maritalStatus'],
  ['an empty object in an array', patient({ name: [{}] }), 'structure', 'Patient.name[0]'],
  ['an empty sibling', patient({ birthDate: '2000', _birthDate: {} }), 'structure', 'Patient.birthDate'],
  ['an empty contained resource', contains({}), 'structure', 'Patient.contained[0].resourceType'],
  ['an empty array', patient({ name: [] }), 'structure', 'Patient.name'],
  ['an empty array of primitives', patient({ name: [{ given: [] }] }), 'structure', 'Patient.name[0].given'],
  [
    'an empty array of siblings',
    patient({ name: [{ given: ['a'], _given: [] }] }),
    'structure',
    'Patient.name[0].given',
  ],
  ['an empty array for an object', patient({ maritalStatus: [] }), 'structure', 'Patient.maritalStatus'],
  ['an empty array of contained resources', patient({ contained: [] }), 'structure', 'Patient.contained'],
  ['an empty string', patient({ name: [{ family: '' }] }), 'value', 'Patient.name[0].family'],
  ['a blank string', patient({ name: [{ family: ' ' }] }), 'value', 'Patient.name[0].family'],
  ['an empty string in an array', patient({ name: [{ given: ['a', ''] }] }), 'value', 'Patient.name[0].given[1]'],
  ['an empty code', patient({ gender: '' }), 'value', 'Patient.gender'],
  ['an empty uri', patient({ implicitRules: '' }), 'value', 'Patient.implicitRules'],
  ['an empty date', patient({ birthDate: '' }), 'value', 'Patient.birthDate'],
  [
    'an empty required code',
    { resourceType: 'Observation', status: '', code: { text: 'x' } },
    'value',
    'Observation.status',
  ],
  [
    'a blank required code',
    { resourceType: 'Observation', status: ' ', code: { text: 'x' } },
    'value',
    'Observation.status',
  ],
  [
    'an element with nothing but an id',
    patient({ maritalStatus: { id: 'x' } }),
    'invariant',
    'Patient.maritalStatus',
    /ele-1/,
  ],
  [
    'an element with nothing but an id, in an array',
    patient({ contact: [{ id: 'x' }] }),
    'invariant',
    'Patient.contact[0]',
    /ele-1/,
  ],
  [
    'a sibling with nothing but an id and no value',
    patient({ _birthDate: { id: 'x' } }),
    'invariant',
    'Patient.birthDate',
    /ele-1/,
  ],
  [
    'siblings with nothing but an id and no value',
    patient({ name: [{ _given: [{ id: 'x' }] }] }),
    'invariant',
    'Patient.name[0].given[0]',
    /ele-1/,
  ],

  // Ids (row 19).
  ['an id of 65 characters', patient({ id: 'a'.repeat(65) }), 'value', 'Patient.id'],
  ['an id with an underscore', patient({ id: 'a_b' }), 'value', 'Patient.id'],
  ['an id with a slash', patient({ id: 'a/b' }), 'value', 'Patient.id'],
  ['an id of two dots', patient({ id: '..' }), 'value', 'Patient.id'],
  ['an id with an accent', patient({ id: 'é' }), 'value', 'Patient.id'],
  ['an empty id', patient({ id: '' }), 'value', 'Patient.id'],
  ['an id that is a number', patient({ id: 1 }), 'structure', 'Patient.id'],
  ['an element’s id with a space', patient({ name: [{ id: 'a b', text: 'x' }] }), 'value', 'Patient.name[0].id'],
  ['a version id with a slash', patient({ meta: { versionId: '1/2' } }), 'value', 'Patient.meta.versionId'],

  // Numbers (rows 20, 23).
  ['an integer above 32 bits', patient({ multipleBirthInteger: 2147483648 }), 'value', 'Patient.multipleBirth'],
  ['an integer below 32 bits', patient({ multipleBirthInteger: -2147483649 }), 'value', 'Patient.multipleBirth'],
  ['an integer with a fraction', patient({ multipleBirthInteger: 1.5 }), 'value', 'Patient.multipleBirth'],
  [
    'a positiveInt of 0',
    patient({ telecom: [{ system: 'phone', value: '1', rank: 0 }] }),
    'value',
    'Patient.telecom[0].rank',
  ],
  [
    'a positiveInt of 2^31',
    patient({ telecom: [{ value: '1', system: 'phone', rank: 2147483648 }] }),
    'value',
    'Patient.telecom[0].rank',
  ],
  ['an unsignedInt of -1', patient({ photo: [{ size: -1 }] }), 'value', 'Patient.photo[0].size'],
  [
    'a decimal beyond any number',
    json('{"resourceType":"Observation","status":"final","code":{"text":"x"},"valueQuantity":{"value":1e400}}'),
    'value',
    'Observation.value.value',
  ],
  [
    'a decimal of 400 digits',
    json(`{"resourceType":"Patient","extension":[{"url":"http://x","valueDecimal":${'9'.repeat(400)}}]}`),
    'value',
    'Patient.extension[0].value',
  ],
  [
    'an integer beyond any number',
    json('{"resourceType":"Patient","multipleBirthInteger":1e400}'),
    'value',
    'Patient.multipleBirth',
  ],

  // Strings (rows 8, 9, 21).
  ['NUL in a string', patient({ name: [{ text: 'a\0b' }] }), 'value', 'Patient.name[0].text'],
  ['NUL in a long string', patient({ name: [{ text: `${'a'.repeat(500)}\0` }] }), 'value', 'Patient.name[0].text'],
  ['NUL in a uri', patient({ implicitRules: 'http://a\0' }), 'value', 'Patient.implicitRules'],
  [
    'NUL in a reference',
    patient({ managingOrganization: { reference: 'Organization/\0' } }),
    'value',
    'Patient.managingOrganization.reference',
  ],
  ['a lone surrogate', patient({ name: [{ text: 'a\ud800' }] }), 'value', 'Patient.name[0].text'],
  ['a lone surrogate in a code', patient({ language: '\udc00' }), 'value', 'Patient.language'],
  ['a bell', patient({ name: [{ text: 'a\u0007' }] }), 'value', 'Patient.name[0].text'],
  ['a string of more than 1 MB', patient({ name: [{ text: huge }] }), 'too-long', 'Patient.name[0].text'],
  [
    'a string of more than 1 MB in an array',
    patient({ name: [{ given: [huge] }] }),
    'too-long',
    'Patient.name[0].given[0]',
  ],
  ['markdown of more than 1 MB', observation({ note: [{ text: huge }] }), 'too-long', 'Observation.note[0].text'],
  ['a blank markdown', observation({ note: [{ text: '\n ' }] }), 'value', 'Observation.note[0].text'],
  ['a code with a space before it', patient({ gender: ' male' }), 'value', 'Patient.gender'],
  [
    'a code with two spaces',
    patient({ communication: [{ language: { coding: [{ code: 'a  b' }] } }] }),
    'value',
    'Patient.communication[0].language.coding[0].code',
  ],

  // Dates (row 24).
  ['29 February of no leap year', patient({ birthDate: '2023-02-29' }), 'value', 'Patient.birthDate', /existing date/],
  ['month 13', patient({ birthDate: '2024-13-01' }), 'value', 'Patient.birthDate'],
  ['year 0000', patient({ birthDate: '0000-01-01' }), 'value', 'Patient.birthDate'],
  ['year 10000', patient({ birthDate: '10000-01-01' }), 'value', 'Patient.birthDate'],
  ['a date with a time', patient({ birthDate: '2000-01-01T00:00:00Z' }), 'value', 'Patient.birthDate'],
  ['24:00:00', extended({ valueDateTime: '2020-01-01T24:00:00Z' }), 'value', 'Patient.extension[0].value'],
  ['24:00:00 as a time', extended({ valueTime: '24:00:00' }), 'value', 'Patient.extension[0].value'],
  [
    'a dateTime without a zone',
    extended({ valueDateTime: '2020-01-01T12:00:00' }),
    'value',
    'Patient.extension[0].value',
  ],
  [
    'a dateTime without seconds',
    extended({ valueDateTime: '2020-01-01T12:00Z' }),
    'value',
    'Patient.extension[0].value',
  ],
  ['a zone of +14:30', extended({ valueDateTime: '2020-01-01T12:00:00+14:30' }), 'value', 'Patient.extension[0].value'],
  ['an instant without a time', patient({ meta: { lastUpdated: '2020-01-01' } }), 'value', 'Patient.meta.lastUpdated'],
  ['a time with a zone', extended({ valueTime: '12:00:00Z' }), 'value', 'Patient.extension[0].value'],

  // base64, urns, uris (row 26).
  ['bad base64', { resourceType: 'Binary', contentType: 'x/y', data: 'AAA' }, 'value', 'Binary.data'],
  [
    'base64 of another alphabet',
    patient({ photo: [{ contentType: 'x/y', data: 'AA-_' }] }),
    'value',
    'Patient.photo[0].data',
  ],
  ['a bad uuid', extended({ valueUuid: 'urn:uuid:1' }), 'value', 'Patient.extension[0].value'],
  [
    'an upper-case uuid',
    extended({ valueUuid: 'urn:uuid:53FEFA32-fcbb-4ff8-8a92-55ee120877b7' }),
    'value',
    'Patient.extension[0].value',
  ],
  ['a bad oid', extended({ valueOid: '1.2.3' }), 'value', 'Patient.extension[0].value'],
  [
    'a bad uuid in a uri',
    patient({ identifier: [{ system: 'urn:uuid:xyz', value: '1' }] }),
    'value',
    'Patient.identifier[0].system',
  ],
  [
    'a bad oid in a uri',
    patient({ identifier: [{ system: 'urn:oid:1.02', value: '1' }] }),
    'value',
    'Patient.identifier[0].system',
  ],
  [
    'a space in a uri',
    patient({ identifier: [{ system: 'http://a b', value: '1' }] }),
    'value',
    'Patient.identifier[0].system',
  ],
  ['a space in a canonical', patient({ meta: { profile: ['http://a b'] } }), 'value', 'Patient.meta.profile[0]'],
  ['a space in a url', extended({ valueUrl: 'http://a b' }), 'value', 'Patient.extension[0].value'],
  [
    'a space in an extension’s url',
    patient({ extension: [{ url: 'http://a b', valueString: 'x' }] }),
    'value',
    'Patient.extension[0].url',
  ],
  [
    'a space in a reference',
    patient({ managingOrganization: { reference: 'Organization/a b' } }),
    'value',
    'Patient.managingOrganization.reference',
  ],

  // Extensions.
  [
    'an extension with neither value nor extensions',
    extended({}),
    'invariant',
    'Patient.extension[0]',
    /ext-1.*neither/,
  ],
  [
    'an extension with both',
    extended({ valueString: 'x', extension: [{ url: 'y', valueString: 'z' }] }),
    'invariant',
    'Patient.extension[0]',
    /ext-1.*both/,
  ],
  [
    'a bad extension in an extension',
    extended({ extension: [{ url: 'y' }] }),
    'invariant',
    'Patient.extension[0].extension[0]',
    /ext-1/,
  ],
  [
    'a bad extension of a primitive',
    patient({ _birthDate: { extension: [{ url: 'y' }] } }),
    'invariant',
    'Patient.birthDate.extension[0]',
    /ext-1/,
  ],
  [
    'a bad extension of a primitive in an array',
    patient({ name: [{ given: ['a', 'b'], _given: [null, { extension: [{ url: 'y' }] }] }] }),
    'invariant',
    'Patient.name[0].given[1].extension[0]',
  ],
  [
    'a bad modifierExtension',
    patient({ modifierExtension: [{ url: 'http://x' }] }),
    'invariant',
    'Patient.modifierExtension[0]',
  ],
  [
    'a modifierExtension where there is none',
    patient({ name: [{ text: 'x', modifierExtension: [{ url: 'y', valueCode: 'z' }] }] }),
    'structure',
    'Patient.name[0].modifierExtension',
  ],

  // Narratives (row 27); more in narrative.test.ts.
  ['a script', div('<script>alert(1)</script>'), 'invariant', 'Patient.text.div', /txt-1/],
  ['an event handler', div('<p onclick="x()">a</p>'), 'invariant', 'Patient.text.div', /txt-1/],
  ['a javascript: link', div('<a href="javascript:alert(1)">a</a>'), 'invariant', 'Patient.text.div', /txt-1/],
  ['a narrative of nothing', div(' <p> </p>'), 'invariant', 'Patient.text.div', /txt-2/],
  ['a narrative that is a number', patient({ text: { status: 'generated', div: 1 } }), 'structure', 'Patient.text.div'],
  ['an empty narrative', patient({ text: { status: 'generated', div: '' } }), 'invariant', 'Patient.text.div'],

  // Nested resources.
  [
    'a bad resource in a Bundle',
    { resourceType: 'Bundle', type: 'collection', entry: [{ resource: patient({ foo: 1 }) }] },
    'structure',
    'Bundle.entry[0].resource.foo',
  ],
  [
    'an unknown resource in a Bundle',
    { resourceType: 'Bundle', type: 'collection', entry: [{ resource: { resourceType: 'Foo' } }] },
    'structure',
    'Bundle.entry[0].resource.resourceType',
  ],
  [
    'a bad resource in Parameters',
    { resourceType: 'Parameters', parameter: [{ name: 'x', part: [{ name: 'y', resource: patient({ foo: 1 }) }] }] },
    'structure',
    'Parameters.parameter[0].part[0].resource.foo',
  ],
  ['a bad contained resource', contains(organization({ foo: 1 }), managed), 'structure', 'Patient.contained[0].foo'],

  // Contained resources (row 28).
  [
    'a contained resource in a contained resource',
    contains(organization({ contained: [organization({ id: 'p' })] }), managed),
    'invariant',
    'Patient.contained[0].contained[0]',
    /dom-2/,
  ],
  ['a contained resource nobody refers to', contains(organization()), 'invariant', 'Patient.contained[0]', /dom-3/],
  [
    'a contained resource with another id',
    contains(organization({ id: 'p' }), { generalPractitioner: [{ display: '#p' }] }),
    'invariant',
    'Patient.contained[0]',
    /dom-3/,
  ],
  [
    'a contained resource without an id',
    contains({ resourceType: 'Organization', name: 'x' }),
    'invariant',
    'Patient.contained[0]',
    /dom-3.*no id/,
  ],
  [
    'a contained resource with a version',
    contains(organization({ meta: { versionId: '1' } }), managed),
    'invariant',
    'Patient.contained[0].meta',
    /dom-4/,
  ],
  [
    'a contained resource with lastUpdated',
    contains(organization({ meta: { lastUpdated: '2020-01-01T00:00:00Z' } }), managed),
    'invariant',
    'Patient.contained[0].meta',
    /dom-4/,
  ],
  [
    'a contained resource with a security label',
    contains(organization({ meta: { security: [{ code: 'R' }] } }), managed),
    'invariant',
    'Patient.contained[0].meta',
    /dom-5/,
  ],
  ['a local reference to nothing', patient(managed), 'invariant', 'Patient.managingOrganization.reference', /ref-1/],
  [
    'a local reference into another entry',
    {
      resourceType: 'Bundle',
      type: 'collection',
      entry: [{ resource: contains(organization(), managed) }, { resource: patient(managed) }],
    },
    'invariant',
    'Bundle.entry[1].resource.managingOrganization.reference',
    /ref-1/,
  ],
]

test('at least a hundred faults are listed', () => {
  assert.ok(rows.length >= 150, String(rows.length))
})

test('a sound resource has no issues', () => {
  for (const resource of sound)
    assert.equal(validator.validate(resource as any), [], JSON.stringify(resource).slice(0, 200))
})

for (const [fault, resource, code, expression, diagnostics] of rows) {
  test(`${fault} is refused as ${code} at ${expression}`, () => {
    const issues = validator.validate(resource as any)
    assert.is(issues.length, 1, JSON.stringify(issues, null, 1))
    const { severity, code: found, expression: where, diagnostics: says } = issues[0]!
    assert.equal({ severity, found, where }, { severity: 'error', found: code, where: [expression] }, says)
    assert.ok(says.startsWith(`${expression}: `) && says.endsWith('.') && says.length < 400, says)
    if (diagnostics !== undefined) assert.match(says, diagnostics)
  })
}

test('nothing above leaves a trace on Object.prototype', () => {
  assert.is(({} as any).x, undefined)
  assert.equal(Object.keys(Object.prototype), [])
})

test('all faults of a resource are told at once, each at its place', () => {
  const issues = validator.validate(
    patient({ gender: 1, birthDate: '2023-02-29', name: [{ foo: 1 }, { given: ['', 2] }], link: [{}] }) as any,
  )
  assert.equal(issues.map(({ code, expression }) => `${code} ${expression}`).toSorted(), [
    'structure Patient.gender',
    'structure Patient.link[0]',
    'structure Patient.name[0].foo',
    'structure Patient.name[1].given[1]',
    'value Patient.birthDate',
    'value Patient.name[1].given[0]',
  ])
})

test('contained resources that refer to one another in a circle are accepted (row 28)', () => {
  const circle = {
    resourceType: 'Patient',
    contained: [
      organization({ id: 'a', partOf: { reference: '#b' } }),
      organization({ id: 'b', partOf: { reference: '#a' } }),
    ],
  }
  assert.equal(validator.validate(circle), [])
})

test('a canonical refers to a contained resource as a Reference does', () => {
  const contained = [{ resourceType: 'ValueSet', id: 'v', status: 'draft' }]
  const item = (answerValueSet: string) => [{ linkId: '1', type: 'choice', answerValueSet }]
  const questionnaire = (answerValueSet: string) =>
    validator.validate({ resourceType: 'Questionnaire', status: 'draft', contained, item: item(answerValueSet) })
  assert.equal(questionnaire('#v'), [])
  assert.match(questionnaire('http://example.org/v')[0]!.diagnostics, /dom-3/)
})

test('an integer spelled with a fraction or an exponent is refused when the text is known (row 20)', () => {
  const check = (number: string) => {
    const text = `{"resourceType":"Patient","multipleBirthInteger":${number},"extension":[{"url":"http://x","valueDecimal":1.0}]}`
    return validator.validate(JSON.parse(text), { text })
  }
  for (const number of ['1.0', '1e0', '10E-1', '1.5e1', ' 2.00 ']) {
    const issues = check(number)
    assert.is(issues.length, 1, number)
    assert.is(issues[0]!.code, 'value')
    assert.equal(issues[0]!.expression, ['Patient.multipleBirth'])
    assert.match(issues[0]!.diagnostics, number.trim())
  }
  for (const number of ['1', '-1', '0', '-0', '2147483647']) assert.equal(check(number), [], number)
})

test('decimals keep any spelling (row 22)', () => {
  for (const number of ['1.00', '0.010', '1E2', '-0.0', '0.123456789012345678', '123456789012345678', '1e-300']) {
    const text = `{"resourceType":"Patient","multipleBirthInteger":1,"extension":[{"url":"http://x","valueDecimal":${number}}]}`
    assert.equal(validator.validate(JSON.parse(text), { text }), [], number)
  }
})

test('the members of a valid resource are counted', () => {
  const text =
    '{"resourceType":"Patient","name":[{"given":["a"],"_given":[{"id":"x"}]}],"contained":[{"resourceType":"Basic","id":"b","code":{"text":"#"},"subject":{"reference":"#"}}]}'
  assert.equal(validator.validate(JSON.parse(text)), [])
  assert.is(validator.keys, 3 + 2 + 1 + 4 + 1 + 1)
})

test('no more issues are listed than asked for, and the rest is counted', () => {
  const many = patient(Object.fromEntries(Array.from({ length: 250 }, (_, at) => [`foo${at}`, 1])))
  const issues = validator.validate(many)
  assert.is(issues.length, 101)
  assert.match(issues[100]!.diagnostics, '150 more')
  assert.is(issues[100]!.severity, 'information')
  assert.is(validator.validate(many, { limit: 1000 }).length, 250)
})

test('a hundred thousand members and a million items are checked without quadratic time (row 14)', () => {
  const wide = patient(Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`foo${at}`, 1])))
  const long = patient({ name: Array.from({ length: 1_000_000 }, () => null) })
  const deep = patient({ name: [{ given: Array.from({ length: 1_000_000 }, (_, at) => (at === 999_999 ? '' : 'a')) }] })
  assert.is(validator.validate(wide).length, 101)
  assert.is(validator.validate(long).length, 101)
  assert.equal(validator.validate(deep)[0]!.expression, ['Patient.name[0].given[999999]'])
})

test('nesting that exhausts the stack is one issue, and the next resource is fine', () => {
  const depth = 200_000
  const text = `{"resourceType":"Patient","extension":${'[{"url":"a","extension":'.repeat(depth)}[{"url":"a","valueCode":"b"}]${'}]'.repeat(depth)}}`
  const issues = validator.validate(JSON.parse(text))
  assert.is(issues.length, 1)
  assert.is(issues[0]!.code, 'structure')
  assert.match(issues[0]!.diagnostics, 'nested too deeply')
  assert.equal(validator.validate(contains(organization(), managed)), [])
})

test('a definition is asked for at the first use of its type and compiled once', () => {
  const source = r4Definitions()
  const fresh = createStructureValidator(source)
  assert.equal(source.asked, [])
  fresh.validate(patient({ name: [{ family: 'x' }] }))
  fresh.validate(patient({ name: [{ family: 'y' }], contact: [{ name: { family: 'z' } }] }))
  const urls = ['Patient', 'HumanName'].map((type) => `http://hl7.org/fhir/StructureDefinition/${type}`)
  assert.equal(source.asked, urls)
  assert.equal(fresh.types(), urls)
})

test('a type whose definition is not installed is told, and asked for again next time', () => {
  const full = r4Definitions()
  let installed = false
  const fresh = createStructureValidator({
    definition: (url) => (installed || url.endsWith('/Patient') ? full.definition(url) : undefined),
  })
  const issues = fresh.validate(patient({ name: [{ text: 'x' }] }))
  assert.is(issues[0]!.code, 'not-supported')
  assert.match(issues[0]!.diagnostics, 'StructureDefinition/HumanName, is not installed')
  installed = true
  assert.equal(fresh.validate(patient({ name: [{ text: 'x' }] })), [])
})

test('a source that throws leaves the validator usable', () => {
  const full = r4Definitions()
  let broken = true
  const fresh = createStructureValidator({
    definition(url) {
      if (broken && url.endsWith('/HumanName')) throw new Error('not loaded yet')
      return full.definition(url)
    },
  })
  assert.throws(() => fresh.validate(patient({ name: [{ text: 'x' }] })), 'not loaded yet')
  broken = false
  assert.equal(fresh.validate(patient({ name: [{ text: 'x' }] })), [])
  assert.is(fresh.validate(patient({ name: [{ foo: 'x' }] })).length, 1)
})

test('a primitive this server does not know is checked by the regular expression of its definition', () => {
  const full = r4Definitions()
  const system = (code: string, regex: string) => [
    {
      code: `http://hl7.org/fhirpath/System.${code}`,
      extension: [{ url: 'http://hl7.org/fhir/StructureDefinition/regex', valueString: regex }],
    },
  ]
  const element = (path: string, more: object) => ({
    path,
    min: 0,
    max: '1',
    base: { path, min: 0, max: '1' },
    ...more,
  })
  const plate: any = {
    ...{ resourceType: 'StructureDefinition', url: 'http://hl7.org/fhir/StructureDefinition/plate', name: 'plate' },
    ...{ type: 'plate', kind: 'primitive-type', abstract: false },
    snapshot: {
      element: [element('plate', {}), element('plate.value', { type: system('String', '[A-Z]{2}-[0-9]{4}') })],
    },
  }
  const car: any = {
    ...{
      resourceType: 'StructureDefinition',
      url: 'http://hl7.org/fhir/StructureDefinition/Car',
      name: 'Car',
      type: 'Car',
    },
    ...{ kind: 'resource', abstract: false },
    snapshot: { element: [element('Car', {}), element('Car.plate', { type: [{ code: 'plate' }] })] },
  }
  const more = new Map([plate, car].map((definition) => [definition.url, definition]))
  const fresh = createStructureValidator({ definition: (url) => more.get(url) ?? full.definition(url) })
  assert.equal(fresh.validate({ resourceType: 'Car', plate: 'AB-1234' }), [])
  assert.is(fresh.validate({ resourceType: 'Car', plate: 'AB-123' })[0]?.code, 'value')
  assert.is(fresh.validate({ resourceType: 'Car', plate: 1 })[0]?.code, 'structure')
})

test('a list may have a largest length', () => {
  const element = (path: string, more: object) => ({ path, min: 0, max: '1', ...more })
  const train: any = {
    ...{ resourceType: 'StructureDefinition', url: 'http://hl7.org/fhir/StructureDefinition/Train', name: 'Train' },
    ...{ type: 'Train', kind: 'resource', abstract: false },
    snapshot: {
      element: [
        element('Train', {}),
        element('Train.engine', { max: '2', type: [{ code: 'string' }] }),
        element('Train.car', { max: '1', base: { path: 'Train.car', min: 0, max: '*' }, type: [{ code: 'Coding' }] }),
      ],
    },
  }
  const fresh = createStructureValidator(r4Definitions([train]))
  const says = (more: object) =>
    fresh.validate({ resourceType: 'Train', ...more }).map(({ code, expression }) => `${code} ${expression}`)
  assert.equal(says({ engine: ['a', 'b'], car: [{ code: 'x' }] }), [])
  assert.equal(says({ engine: ['a', 'b', 'c'] }), ['structure Train.engine'])
  assert.equal(says({ car: [{ code: 'x' }, { code: 'y' }] }), ['structure Train.car'])
  assert.equal(says({ car: { code: 'x' } }), ['structure Train.car'])
})

test.run()
