import { StorageFailure, type StorageFailureCode } from '#runtime/storage'

const mend = 'restore a backup, or save what can be saved: npm run admin -- repair'

/**
 * What LevelDB and the file system say when they refuse, read as the port's codes; the first row that fits counts.
 * LevelDB has no codes for errors of the disk, only the text of `strerror`, and Node never changes its language.
 */
const signs: readonly { readonly code: StorageFailureCode; readonly sign: RegExp; readonly advice: string }[] = [
  {
    code: 'locked',
    sign: /^LEVEL_LOCKED/,
    advice: 'another process uses this folder; stop it, or choose another folder',
  },
  { code: 'full', sign: /No space left on device|Disk quota exceeded|ENOSPC|EDQUOT/i, advice: 'free some disk space' },
  { code: 'damaged', sign: /^LEVEL_CORRUPTION/, advice: mend },
  // CURRENT names a manifest that is gone: an IO error to LevelDB, but no retry will bring the file back.
  { code: 'damaged', sign: /MANIFEST-\d+: No such file/, advice: mend },
  { code: 'closed', sign: /^LEVEL_(DATABASE|ITERATOR|SNAPSHOT)_NOT_OPEN/, advice: 'the store was closed' },
]

/**
 * Any error of LevelDB or of `node:fs` as a `StorageFailure`, with a message an operator can act on and the error as
 * its cause. What no sign fits is `io`. A `StorageFailure` comes back as it is.
 */
export function failureFrom(error: unknown, folder: string): StorageFailure {
  if (error instanceof StorageFailure) return error
  const said = innermost(error)
  const found = signs.find(({ sign }) => sign.test(said))
  const { code, advice } = found ?? { code: 'io', advice: 'check the disk and the rights of the folder' }
  return new StorageFailure(code, `${folder}: ${advice} (${said})`, { cause: error })
}

/** A refused open says LEVEL_DATABASE_NOT_OPEN; why it was refused is in its cause. */
function innermost(error: unknown): string {
  let inner = error
  while (inner instanceof Error && inner.cause !== undefined) inner = inner.cause
  if (!(inner instanceof Error)) return String(inner)
  const code = 'code' in inner ? `${String(inner.code)}: ` : ''
  return `${code}${inner.message}`
}

/** What who asks a store that was closed is told. */
export function closedFailure(folder: string): StorageFailure {
  return new StorageFailure('closed', `${folder}: the store was closed`)
}
