/** A small release of LOINC in the real format, with made content. */

export const LOINC = 'http://loinc.org'

const CORE = 'COMPONENT,PROPERTY,TIME_ASPCT,SYSTEM,SCALE_TYP,METHOD_TYP,CLASS'

const csv = (heading: string, rows: readonly (readonly string[])[]): string =>
  [heading.split(','), ...rows]
    .map((row) => `${row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')}\r\n`)
    .join('')

/** Content by path. */
export const loincRelease = (): Record<string, string> => ({
  // A byte order mark, columns in another order than usual, quotes and line breaks in values.
  'Loinc_2.80/LoincTable/Loinc.csv': `\uFEFF${csv(
    `STATUS,LOINC_NUM,${CORE},VersionLastChanged,DefinitionDescription,CLASSTYPE,CONSUMER_NAME,SHORTNAME,ORDER_OBS,LONG_COMMON_NAME,EXAMPLE_UCUM_UNITS,VersionFirstReleased,DisplayName`,
    [
      [
        ...['ACTIVE', '1001-7', 'Madeglobin', 'MCnc', 'Pt', 'Ser/Plas', 'Qn', '', 'CHEM', '2.80'],
        ...['Line one,\r\nline "two"', '1', 'Made one, Blood', 'Madeglob SerPl-mCnc', 'Both'],
        ...['Madeglobin [Mass/volume] in Serum or Plasma', 'mg/dL', '1.0', 'Madeglobin (S/P) [Mass/Vol]'],
      ],
      [
        ...['ACTIVE', '1002-5', 'Madeglobin', 'Prid', 'Pt', 'Bld', 'Nom', 'Probe', 'CHEM', '2.9', '', '1', '', '', ''],
        ...['Madeglobin type in Blood', '', '2.9', ''],
      ],
      [
        ...['DEPRECATED', '1003-3', 'Oldglobin', 'MCnc', 'Pt', 'Bld', 'Qn', '', 'CHEM', '2.50', '', '1', '', '', ''],
        ...['Oldglobin in Blood', '', '1.0', ''],
      ],
    ],
  )}`,
  'Loinc_2.80/LoincTableCore/LoincTableCore.csv': 'LOINC_NUM\r\nnot read\r\n',
  'Loinc_2.80/AccessoryFiles/PartFile/Part.csv': csv('PartNumber,PartTypeName,PartName,PartDisplayName,Status', [
    ['LP1001-1', 'COMPONENT', 'Madeglobin', 'Madeglobin', 'ACTIVE'],
    ['LP1002-9', 'SYSTEM', 'Bld', 'Blood', 'ACTIVE'],
    ['LP1003-7', 'CLASS', 'CHEM', 'Chemistry', 'ACTIVE'],
  ]),
  'Loinc_2.80/AccessoryFiles/PartFile/LoincPartLink_Primary.csv': csv(
    'LoincNumber,LongCommonName,PartNumber,PartName,PartCodeSystem,PartTypeName,LinkTypeName,Property',
    [
      ['1001-7', '-', 'LP1001-1', 'Madeglobin', LOINC, 'COMPONENT', 'Primary', 'http://loinc.org/property/COMPONENT'],
      ['1002-5', '-', 'LP1001-1', 'Madeglobin', LOINC, 'COMPONENT', 'Primary', 'http://loinc.org/property/COMPONENT'],
      ['1002-5', '-', 'LP1002-9', 'Bld', LOINC, 'SYSTEM', 'Primary', 'http://loinc.org/property/SYSTEM'],
    ],
  ),
  'Loinc_2.80/AccessoryFiles/PartFile/LoincPartLink_Supplementary.csv': csv(
    'LoincNumber,LongCommonName,PartNumber,PartName,PartCodeSystem,PartTypeName,LinkTypeName,Property',
    [
      ['1001-7', '-', 'LP1003-7', 'CHEM', LOINC, 'CLASS', 'Metadata', 'http://loinc.org/property/CLASS'],
      ['1001-7', '-', 'LP1002-9', 'Bld', LOINC, 'SYSTEM', 'DetailedModel', 'http://loinc.org/property/SYSTEM'],
    ],
  ),
  'Loinc_2.80/AccessoryFiles/AnswerFile/AnswerList.csv': csv(
    'AnswerListId,AnswerListName,AnswerListOID,ExtDefinedYN,AnswerStringId,LocalAnswerCode,SequenceNumber,DisplayText',
    [
      ['LL1001-8', 'Made answers', '1.2', 'N', 'LA1001-6', '', '1', 'Yes, made'],
      ['LL1001-8', 'Made answers', '1.2', 'N', 'LA1002-4', '', '2', 'No'],
      ['LL1002-6', 'Made elsewhere', '1.3', 'Y', '', '', '', ''],
    ],
  ),
  'Loinc_2.80/AccessoryFiles/AnswerFile/LoincAnswerListLink.csv': csv(
    'LoincNumber,LongCommonName,AnswerListId,AnswerListName,AnswerListLinkType,ApplicableContext',
    [['1002-5', '-', 'LL1001-8', 'Made answers', 'NORMATIVE', '']],
  ),
  'Loinc_2.80/AccessoryFiles/LinguisticVariants/deDE15LinguisticVariant.csv': csv(
    `LOINC_NUM,${CORE},SHORTNAME,LONG_COMMON_NAME,RELATEDNAMES2,LinguisticVariantDisplayName`,
    [['1001-7', '', '', '', '', '', '', '', '', 'Madeglobin im Serum', '', 'Madeglobin kurz']],
  ),
  'Loinc_2.80/AccessoryFiles/ComponentHierarchyBySystem/ComponentHierarchyBySystem.csv': csv(
    'PATH_TO_ROOT,SEQUENCE,IMMEDIATE_PARENT,CODE,CODE_TEXT',
    [
      ['', '1', '', 'LP2000-2', 'Laboratory'],
      ['LP2000-2', '1', 'LP2000-2', 'LP2001-0', 'Madeglobins'],
      ['LP2000-2.LP2001-0', '1', 'LP2001-0', '1001-7', 'Madeglobin SerPl'],
      ['LP2000-2.LP2001-0', '2', 'LP2001-0', '1002-5', 'Madeglobin Bld'],
    ],
  ),
})
