/**
 * The names of permissions, and the forms of some identifiers, which clients check too. This module must not import
 * schemas, because pages would bundle them.
 */

/** The resources of grants. Contract 2. */
export const resources = [
  'service',
  'device',
  'schemas',
  'meta',
  'alarms',
  'notifications',
  'functions',
  'updates',
  'users',
  'roles',
  'tenants',
  'health',
  'audit',
] as const

export const actions = ['create', 'read', 'update', 'delete'] as const

/**
 * Maximum length of a device, service, role, template, project or hardware name: names become keys and path segments.
 */
export const identifierCharactersMax = 64

/** Semantic versions have no length limit of their own; 128 holds a version, a commit hash and a build name. */
export const firmwareCharactersMax = 128

/**
 * §2.1 as contract 1.8 reads it: an optional prefix of two printable ASCII characters, the first not a space, none of
 * `: , / % ? # * \`, and then letters, digits, `=` and `-`. The `*` of §2.1 exists in scopes only.
 */
export const devicePattern = /^(?:(?![#%*,/:?\\])[!-~](?![#%*,/:?\\])[ -~])?[a-zA-Z0-9=-]+$/

/** Contract 1.8: names of roles, templates, projects and hardware. */
export const shortNamePattern = /^(?!(?:__proto__|\.{1,2})$)[A-Za-z0-9._-]+$/

/** The strict form, https://semver.org. */
export const semverPattern =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$/

/** The upper-case form, or undefined if the text is not a device identifier. Same result as `DeviceIdentifier`. */
export function deviceIdentifierOf(text: string): string | undefined {
  if (text.length > identifierCharactersMax || !devicePattern.test(text)) return undefined
  return text.toUpperCase()
}

/** Whether a text is the name of a role, template, project or hardware. Same result as `ShortName`. */
export function isShortName(text: string): boolean {
  return text.length <= identifierCharactersMax && shortNamePattern.test(text)
}

/** Whether a text is a semantic version. Same result as `FirmwareVersion`. */
export function isFirmwareVersion(text: string): boolean {
  return text.length <= firmwareCharactersMax && semverPattern.test(text)
}
