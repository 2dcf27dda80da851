/** The table of facts about the whole database, such as its FHIR release and the build that migrated it last. */
export const pinsMigration = {
  name: 'database/0001-pins',
  sql: ['CREATE TABLE database_pin (name varchar(64) PRIMARY KEY, value text NOT NULL)'],
}
