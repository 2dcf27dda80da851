/** Formats of primitives. https://hl7.org/fhir/R4/datatypes.html#primitive; bad input rows 8, 9, 19, 20, 24, 25 and 26. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { isDate, isDateTime, isInstant, isTime } from '../../../plugins/model/date/is-date-time.ts'
import {
  isBase64,
  isCode,
  isElementId,
  isIdFormat,
  isOid,
  isResourceId,
  isText,
  isUri,
  isUuid,
} from '../../../plugins/validation/structure/text.ts'

const UUID = '53fefa32-fcbb-4ff8-8a92-55ee120877b7'
const long = (text: string) => text.repeat(1000)

const table: readonly [name: string, is: (text: string) => boolean, yes: readonly string[], no: readonly string[]][] = [
  [
    'date',
    isDate,
    ['2023', '0001', '9999', '2023-02', '2023-02-28', '2024-02-29', '2000-02-29', '0004-02-29', '2023-12-31'],
    [
      ...[
        '',
        '202',
        '20233',
        '0000',
        '10000',
        '0000-01-01',
        '10000-01-01',
        '2023-1',
        '2023-00',
        '2023-13',
        '2024-13-01',
      ],
      ...[
        '2023-02-29',
        '1900-02-29',
        '2023-04-31',
        '2023-06-31',
        '2023-09-31',
        '2023-11-31',
        '2023-01-32',
        '2023-01-00',
      ],
      ...[
        '2023-1-01',
        '2023-01-1',
        '2023/01/01',
        '2023-01-01T',
        '2023-01-01Z',
        ' 2023',
        '2023 ',
        '２０２３',
        '-2023',
        '2o23',
      ],
    ],
  ],
  [
    'dateTime',
    isDateTime,
    [
      ...[
        '2023',
        '2023-02',
        '2023-02-28',
        '2023-02-28T00:00:00Z',
        '2023-02-28T23:59:59+14:00',
        '2023-02-28T23:59:59-14:00',
      ],
      ...[
        '2016-12-31T23:59:60Z',
        '0001-01-01T00:00:00Z',
        '2023-02-28T00:00:00.1Z',
        '2023-02-28T00:00:00.123456789+05:30',
      ],
      ...['2023-02-28T00:00:00-00:00', '2023-02-28T00:00:00+13:59'],
    ],
    [
      ...['2023-02-28T00:00:00', '2023-02-28T00:00Z', '2023-02-28T00Z', '2023-02-28T24:00:00Z', '2023-02-28T23:60:00Z'],
      ...['2023-02-28T23:59:61Z', '2023-02-29T00:00:00Z', '2023-02-28T00:00:00.Z', '2023-02-28T00:00:00,5Z'],
      ...[
        '2023-02-28T00:00:00+14:01',
        '2023-02-28T00:00:00+15:00',
        '2023-02-28T00:00:00+5:30',
        '2023-02-28T00:00:00+0530',
      ],
      ...[
        '2023-02-28T00:00:00+05',
        '2023-02-28T00:00:00z',
        '2023-02-28t00:00:00Z',
        '2023-02-28 00:00:00Z',
        '2023-02T00:00:00Z',
      ],
      ...[
        '2023-02-28T00:00:00Z ',
        '2023-02-28T00:00:00+05:60',
        '2023-02-28T0:00:00Z',
        '2023-02-28T00:00:00ZZ',
        '0000-01-01T00:00:00Z',
      ],
    ],
  ],
  [
    'instant',
    isInstant,
    ['2023-02-28T00:00:00Z', '2015-02-07T13:28:17.239+02:00', '2016-12-31T23:59:60Z', '0001-01-01T00:00:00+14:00'],
    ['2023', '2023-02', '2023-02-28', '2023-02-28T00:00:00', '2023-02-30T00:00:00Z', '2023-02-28T24:00:00Z', ''],
  ],
  [
    'time',
    isTime,
    ['00:00:00', '23:59:59', '23:59:60', '12:30:00.123456789'],
    [
      '24:00:00',
      '12:30',
      '12:30:00Z',
      '12:30:00+01:00',
      '1:30:00',
      '12:60:00',
      '12:30:61',
      '12:30:00.',
      'T12:30:00',
      '',
      '12-30-00',
    ],
  ],
  [
    'string',
    isText,
    ['a', ' a ', 'line\nline\ttab\r', 'é', '😀', '\u00a0', '\u007f', long('a b'), long('é😀'), 'a'.repeat(1_048_576)],
    [
      ...['', ' ', ' \t\r\n', '\0', 'a\0', 'a\u0001', '\u001f', 'a\u000b', '\ud800', 'a\udc00b', '\ud83da'],
      ...[`${long('a')}\0`, `${long('a')}\ud800`, ' '.repeat(1000), 'a'.repeat(1_048_577)],
    ],
  ],
  [
    'code',
    isCode,
    ['a', 'a b', 'a-b_c.d', 'é', 'a\tb', '<=', '😀'],
    ['', ' a', 'a ', 'a  b', ' ', 'a\0', '\ud800', 'a\u0001b', 'a\n', '\na'],
  ],
  [
    'id',
    isIdFormat,
    ['a', 'A-9.z', '.', '..', 'a'.repeat(64)],
    ['', 'a_b', 'a/b', 'é', 'a b', 'a'.repeat(65), 'a@', 'a[', 'a`', 'a{', 'aŁ', '\u017f', '\u212a'],
  ],
  ['id of a resource', isResourceId, ['a', 'a.b', '...'], ['', '.', '..', 'a_b', 'a'.repeat(65)]],
  ['id of an element', isElementId, ['a_b', 'Patient.name:given[x]/1'], ['', 'a b', 'a\tb', ' ']],
  [
    'uri',
    isUri,
    [
      ...[
        'http://a/b?c=d#e',
        '#a',
        'a',
        `urn:uuid:${UUID}`,
        `urn:uuid:${UUID.toUpperCase()}`,
        'urn:oid:1.2.3',
        'http://é',
        'mailto:a@b',
      ],
      ...['http://a|1.0', `urn:uuid:${UUID}|2`, 'urn:oid:2.16.840.1.113883|4.0.1', 'urn:ietf:rfc:3986', 'u'],
    ],
    [
      ...[
        '',
        ' ',
        'a b',
        ' a',
        'a ',
        'a\tb',
        'a\n',
        'http://é b',
        'a\u00a0b',
        'a\0',
        '\ud800',
        'urn:uuid:1',
        `urn:uuid:${UUID}0`,
      ],
      ...[
        `urn:uuid:{${UUID}}`,
        'urn:oid:',
        'urn:oid:1',
        'urn:oid:3.1',
        'urn:oid:1..2',
        'urn:oid:1.02',
        'urn:oid:1.2.',
        'urn:oid:X.Y',
      ],
    ],
  ],
  [
    'oid',
    isOid,
    ['urn:oid:1.2.3', 'urn:oid:2.0'],
    ['1.2.3', 'urn:oid:1', 'urn:oid:01.2', 'urn:oid:1.02', 'oid:1.2', 'urn:oid:1.2|3', ''],
  ],
  [
    'uuid',
    isUuid,
    [`urn:uuid:${UUID}`],
    [UUID, `urn:uuid:${UUID.toUpperCase()}`, 'urn:uuid:', '', `urn:uuid:${UUID}|1`],
  ],
  [
    'base64Binary',
    isBase64,
    [
      ...[
        'AAAA',
        'AA==',
        'AAA=',
        'A A\nA\tA',
        'AA= =',
        ' AAAA ',
        'a+/9',
        long('AAAA'),
        `${long('AAAA')}AA==`,
        `${long('AAAA\n')}`,
        'AAAA'.repeat(4096),
        `${'AAAA'.repeat(9000)}AAA=`,
        `${'AAAA\n'.repeat(9000)}AA==`,
      ],
      ...[`${long('AAAA')}AAA=`, `${long(' AAAA')}AA==\n`],
    ],
    [
      ...[
        '',
        ' ',
        'A',
        'AA',
        'AAA',
        'AAAAA',
        'A===',
        'AA=A',
        '=AAA',
        'AA-_',
        'AAA?',
        'AAAA=',
        'AA==AAAA',
        'éAAA',
        '====',
      ],
      ...[
        `${long('AAAA')}A`,
        `${long('AAAA')}AA`,
        `${long('AAAA')}AA-_`,
        `${long('AAAA')}A-AA`,
        `${long('AAAA')}AA?A`,
        `${long('AAAA')}AAA`,
        `${long('AAAA')}AA=`,
        `${long('AA==')}`,
        `${long('AAA_')}`,
        `${'AAAA'.repeat(9000)}AA==AAAA`,
        `${'AAAA'.repeat(4095)}AAA=${'AAAA'.repeat(4096)}`,
        `${'AAAA'.repeat(9000)}A\nA==AAAA`,
        `${'AAAA'.repeat(9000)}?AAA`,
        `${long('AAAA')}AAAŁ`,
        `${long('AAAA\n')}AAAŁ`,
        'AAAŁ',
      ],
      ...[`${long('AAAA ')}AA`, `${long('AAAA')}\f`, ' '.repeat(4000)],
    ],
  ],
]

for (const [name, is, yes, no] of table) {
  test(`a ${name} is recognised exactly`, () => {
    for (const text of yes) assert.ok(is(text), `refused: ${JSON.stringify(text.slice(0, 60))}`)
    for (const text of no) assert.not(is(text), `accepted: ${JSON.stringify(text.slice(0, 60))}`)
  })
}

test('every day of four centuries exists exactly when the calendar has it', () => {
  const two = (number: number) => String(number).padStart(2, '0')
  for (let year = 1600; year < 2001; year += 1) {
    for (let month = 1; month <= 12; month++) {
      for (let day = 27; day <= 32; day++) {
        const exists = new Date(Date.UTC(year, month - 1, day)).getUTCMonth() === month - 1
        assert.is(isDate(`${year}-${two(month)}-${two(day)}`), exists, `${year}-${month}-${day}`)
      }
    }
  }
})

test('dates agree with the regular expressions of R4 on every near miss, but for days that do not exist', () => {
  const regex =
    /^([0-9]([0-9]([0-9][1-9]|[1-9]0)|[1-9]00)|[1-9]000)(-(0[1-9]|1[0-2])(-(0[1-9]|[1-2][0-9]|3[0-1])(T([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\.[0-9]+)?(Z|(\+|-)((0[0-9]|1[0-3]):[0-5][0-9]|14:00)))?)?)?$/
  for (const base of ['2024-02-29T23:59:60.123+13:59', '2023-12-31T09:08:07Z', '2023-10', '2023', '2000-01-31']) {
    for (let at = 0; at <= base.length; at++) {
      for (const character of '0123456789-+:.TZ/ ') {
        for (const text of [
          base.slice(0, at) + character + base.slice(at + 1),
          base.slice(0, at) + character + base.slice(at),
          base.slice(0, at) + base.slice(at + 1),
        ]) {
          const [year, month, day] = text.split(/[-T]/).map(Number)
          const exists =
            !/^\d{4}-\d\d-\d\d/.test(text) ||
            new Date(Date.UTC(year!, month! - 1, day)).getUTCDate() === day ||
            year! < 100
          assert.is(isDateTime(text), regex.test(text) && exists, text)
        }
      }
    }
  }
})

test.run()
