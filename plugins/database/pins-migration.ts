/** The table of values that are fixed per database, such as the FHIR release and the build that migrated it last. */
export const pinsMigration = {
  name: 'database/0001-pins',
  sql: ['CREATE TABLE database_pin (name varchar(64) PRIMARY KEY, value text NOT NULL)'],
}
