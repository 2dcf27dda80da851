/**
 * Errors that stop a start with packages to install. One line each: which package, from where, what to do. Spec:
 * Errors, "First start with an unreachable package source".
 */
import { defineError } from '../../kernel/index.ts'

const refuseStart = (key: string, template: string) => defineError(`packages/${key}`, 500, 'exception', template)

export const NotAPackage = refuseStart(
  'not-a-package',
  '"%s" is not a package: give name@version, a directory that holds package.json, or a .tgz file.',
)
export const LocalUnreadable = refuseStart(
  'local-unreadable',
  'The package %s cannot be read: %s. Correct the path in [conformance] packages or --package.',
)
export const SourceUnreachable = refuseStart(
  'source-unreachable',
  'The package %s cannot be fetched from %s: %s. Check the network (behind a proxy set NODE_USE_ENV_PROXY=1 and HTTPS_PROXY), name another source with package_registry or SERVER_PACKAGE_REGISTRY, or give the package as a directory or .tgz with --package.',
)
export const SourceRefused = refuseStart(
  'source-refused',
  'The package %s cannot be fetched from %s: it answered %s. Check package_registry or SERVER_PACKAGE_REGISTRY, or give the package as a directory or .tgz with --package.',
)
export const PackageMissing = refuseStart(
  'package-missing',
  'The package %s is not at %s. Check its name and version, name another source with package_registry or SERVER_PACKAGE_REGISTRY, or give it as a directory or .tgz with --package.',
)
export const NotARegistry = refuseStart(
  'not-a-registry',
  'The package %s cannot be fetched from %s: it answered %s instead of a package. A login page or proxy may stand before it; check package_registry or SERVER_PACKAGE_REGISTRY, or give the package with --package.',
)
export const HashMismatch = refuseStart(
  'hash-mismatch',
  'The package %s from %s is refused: its %s is %s and the registry promised %s. The download was thrown away; start again, or name another source with package_registry or SERVER_PACKAGE_REGISTRY.',
)
export const EntryRefused = refuseStart(
  'entry-refused',
  'The package %s is refused: its entry %s %s. Nothing of it was installed or kept; get it from a source you trust.',
)
export const ArchiveRefused = refuseStart(
  'archive-refused',
  'The package %s is refused: %s. Nothing of it was installed or kept; get it again, or from another source with package_registry, SERVER_PACKAGE_REGISTRY or --package.',
)
export const ManifestMissing = refuseStart(
  'manifest-missing',
  'The package %s is refused: it holds no package.json. Give a FHIR package: a .tgz with package/package.json, or a directory with package.json.',
)
export const ManifestInvalid = refuseStart(
  'manifest-invalid',
  'The package %s is refused: its package.json %s. Get it from a source you trust.',
)
export const ManifestOther = refuseStart(
  'manifest-other',
  'The package %s is refused: its package.json says that it is %s. Nothing of it was installed or kept; name another source with package_registry or SERVER_PACKAGE_REGISTRY.',
)
export const OtherRelease = refuseStart(
  'other-release',
  'The package %s is for FHIR %s and this server runs FHIR R4. Remove it from [conformance] packages or --package, or ask for its R4 edition.',
)
export const DependencyCycle = refuseStart(
  'dependency-cycle',
  'The package %s depends on itself: %s. Give packages whose dependencies end.',
)
export const CacheUnusable = refuseStart(
  'cache-unusable',
  'The package cache %s cannot be used: %s. Name a directory this server may write with package_cache or SERVER_PACKAGE_CACHE.',
)
export const S3Location = refuseStart(
  's3-location',
  'package_registry is "%s", which names no bucket; write s3://bucket or s3://bucket/prefix.',
)
export const S3Keys = refuseStart(
  's3-keys',
  '%s is set without %s; an s3:// package_registry needs both, or neither to use the credentials of the provider.',
)
