import { StorageFailure, type StorageFailureCode } from '#runtime/storage'

const repairAdvice = 'restore a backup, or save what can be saved: npm run admin -- repair'

/**
 * Error texts of LevelDB and the file system, with the code of their `StorageFailure`; the first row that matches
 * counts. LevelDB has no codes for errors of the disk, only the text of `strerror`, and Node never changes its
 * language.
 */
const signs: readonly { readonly code: StorageFailureCode; readonly sign: RegExp; readonly advice: string }[] = [
  {
    code: 'locked',
    sign: /^LEVEL_LOCKED/,
    advice: 'another process uses this folder; stop it, or choose another folder',
  },
  { code: 'full', sign: /No space left on device|Disk quota exceeded|ENOSPC|EDQUOT/i, advice: 'free some disk space' },
  { code: 'damaged', sign: /^LEVEL_CORRUPTION/, advice: repairAdvice },
  // CURRENT names a missing manifest: LevelDB reports an IO error, but no retry will bring the file back.
  { code: 'damaged', sign: /MANIFEST-\d+: No such file/, advice: repairAdvice },
  { code: 'closed', sign: /^LEVEL_(DATABASE|ITERATOR|SNAPSHOT)_NOT_OPEN/, advice: 'the store was closed' },
]

/**
 * Returns any error of LevelDB or `node:fs` as a `StorageFailure`. The error is its cause, and the message names a
 * remedy. An unknown text gives `io`. A `StorageFailure` is returned unchanged.
 */
export function failureFrom(error: unknown, folder: string): StorageFailure {
  if (error instanceof StorageFailure) return error
  const reason = innermost(error)
  const found = signs.find(({ sign }) => sign.test(reason))
  const { code, advice } = found ?? { code: 'io', advice: 'check the disk and the rights of the folder' }
  return new StorageFailure(code, `${folder}: ${advice} (${reason})`, { cause: error })
}

/** The error of a failed open is LEVEL_DATABASE_NOT_OPEN; the reason is in its cause. */
function innermost(error: unknown): string {
  let inner = error
  while (inner instanceof Error && inner.cause !== undefined) inner = inner.cause
  if (!(inner instanceof Error)) return String(inner)
  const code = 'code' in inner ? `${String(inner.code)}: ` : ''
  return `${code}${inner.message}`
}

/** Error for calls on a closed store. */
export function closedFailure(folder: string): StorageFailure {
  return new StorageFailure('closed', `${folder}: the store was closed`)
}
