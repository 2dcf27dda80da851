/** The first-party plugins. Needs decide the order; where they leave it open, this list does. */
import type { AnyPlugin } from '../kernel/index.ts'
import audit from './audit/index.ts'
import backup from './backup/index.ts'
import cluster from './cluster/index.ts'
import console from './console/index.ts'
import cors from './cors/index.ts'
import database from './database/index.ts'
import definitions from './definitions/index.ts'
import exportPlugin from './export/index.ts'
import expunge from './expunge/index.ts'
import fhir from './fhir/index.ts'
import html from './html/index.ts'
import importing from './import/index.ts'
import jobs from './jobs/index.ts'
import limits from './limits/index.ts'
import metering from './metering/index.ts'
import metrics from './metrics/index.ts'
import model from './model/index.ts'
import oidc from './oidc/index.ts'
import openapi from './openapi/index.ts'
import packages from './packages/index.ts'
import probes from './probes/index.ts'
import references from './references/index.ts'
import reindex from './reindex/index.ts'
import requestLog from './request-log/index.ts'
import sdc from './sdc/index.ts'
import sdcArchiver from './sdc-archiver/index.ts'
import search from './search/index.ts'
import smart from './smart/index.ts'
import storage from './storage/index.ts'
import subscriptions from './subscriptions/index.ts'
import sync from './sync/index.ts'
import terminology from './terminology/index.ts'
import trace from './trace/index.ts'
import validation from './validation/index.ts'

export const firstParty: readonly AnyPlugin[] = [
  trace, // sees what all the others do
  database, // everything else stores in it
  packages, // what resource types there are
  model, // what those types consist of
  validation, // what a resource of a type may look like
  storage, // every version of every resource
  search, // which of them are asked for
  fhir, // all of that over HTTP
  html, // as pages, for people
  definitions, // what the packages brought, beside that
  sdcArchiver, // keeps one type of them to itself
  references, // what they may refer to
  importing, // all of that from files
  terminology, // value sets and code systems, those that are stored too
  sdc, // forms, filled in and taken apart
  jobs, // what goes on when a request has ended
  exportPlugin, // one kind of that
  reindex, // another one
  expunge, // a third one, for records
  cluster, // which of several processes does what
  limits, // before those that look tokens up, which report unknown ones to it
  oidc, // where people log in, for the next one
  smart, // says who calls, and lets nobody else in
  sync, // sends changes to clients, as those before let them see
  subscriptions, // notifies other servers
  metering, // counts what all the others answer
  requestLog, // and logs it
  metrics, // and measures it
  cors, // announces to browsers whose pages may read all of that
  audit, // records what all the others did
  console, // shows all of that to operators
  backup, // notes in that trail where its database was restored
  probes, // may show what all others report
  openapi, // describes what all of them serve
]
