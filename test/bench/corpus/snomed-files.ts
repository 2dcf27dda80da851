/** A release of SNOMED CT in the real format with made concepts, as large as is asked for. */
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const DATE = '20260101'
const CORE = '900000000000207008'
const HEAD = ['id', 'effectiveTime', 'active', 'moduleId']
const WORDS = [
  'acute',
  'chronic',
  'fever',
  'fracture',
  'heart',
  'lung',
  'left',
  'right',
  'upper',
  'lower',
  'open',
  'closed',
]
const LINES = 5000 // written at once

const term = (n: number): string =>
  `${WORDS[n % 12]} ${WORDS[Math.floor(n / 12) % 12]} ${WORDS[Math.floor(n / 144) % 12]} of made thing ${n}`
export const codeOf = (n: number): string => String(100_000_000 + n * 10)
const uuid = (kind: string, n: number): string => `${kind}0000000-0000-4000-8000-${String(n).padStart(12, '0')}`

/** Rows by the name of the file and its columns. */
const files = (
  count: number,
): readonly (readonly [string, readonly string[], () => Generator<readonly string[]>])[] => {
  const all = Array.from({ length: count }, (_, n) => n)
  const head = (id: string): readonly string[] => [id, DATE, '1', CORE]
  const text = (n: number, kind: number): string => String(200_000_000_010 + n * 40 + kind * 10)
  return [
    [
      'sct2_Concept_Snapshot_INT',
      ['definitionStatusId'],
      function* () {
        for (const n of all) yield [codeOf(n), DATE, n % 9 === 8 ? '0' : '1', CORE, '900000000000074008']
      },
    ],
    [
      'sct2_Description_Snapshot-en_INT',
      ['conceptId', 'languageCode', 'typeId', 'term', 'caseSignificanceId'],
      function* () {
        for (const n of all) {
          yield [...head(text(n, 0)), codeOf(n), 'en', '900000000000003001', `${term(n)} (finding)`, CORE]
          yield [...head(text(n, 1)), codeOf(n), 'en', '900000000000013009', term(n), CORE]
          yield [...head(text(n, 2)), codeOf(n), 'de', '900000000000013009', `Begriff ${n}`, CORE]
        }
      },
    ],
    [
      'der2_cRefset_LanguageSnapshot-en_INT',
      ['refsetId', 'referencedComponentId', 'acceptabilityId'],
      function* () {
        for (const n of all)
          for (const kind of [0, 1, 2])
            yield [...head(uuid('a', n * 3 + kind)), '900000000000509007', text(n, kind), '900000000000548007']
      },
    ],
    [
      'sct2_Relationship_Snapshot_INT',
      ['sourceId', 'destinationId', 'relationshipGroup', 'typeId', 'characteristicTypeId', 'modifierId'],
      function* () {
        const row = (n: number, kind: number, to: number, type: string): readonly string[] => [
          ...head(String(300_000_000_010 + n * 40 + kind * 10)),
          ...[codeOf(n), codeOf(to), '0', type, '900000000000011006', '900000000000451002'],
        ]
        for (const n of all) {
          if (n > 0) yield row(n, 0, Math.floor(n / 10), '116680003')
          yield row(n, 1, n % 1000, '363698007')
          yield row(n, 2, n % 777, '116676008')
        }
      },
    ],
    [
      'der2_Refset_SimpleSnapshot_INT',
      ['refsetId', 'referencedComponentId'],
      function* () {
        for (const n of all) if (n % 4 === 0) yield [...head(uuid('b', n)), '723264001', codeOf(n)]
      },
    ],
  ]
}

export const writeSnomedFiles = (folder: string, count: number): void => {
  mkdirSync(folder, { recursive: true })
  for (const [name, columns, rows] of files(count)) {
    const file = openSync(join(folder, `${name}_${DATE}.txt`), 'w')
    let lines: string[] = [[...HEAD, ...columns].join('\t')]
    const flush = (): void => {
      writeSync(file, `${lines.join('\r\n')}\r\n`)
      lines = []
    }
    for (const row of rows()) {
      lines.push(row.join('\t'))
      if (lines.length >= LINES) flush()
    }
    if (lines.length > 0) flush()
    closeSync(file)
  }
}
