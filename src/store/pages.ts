import type { Row, Scan, ScanRange, Storage } from '#runtime/storage'

/** The number of rows requested at a time. The storage ends a page earlier if rows are large. */
const rowsAtATime = 512

/** The rows of a range, in order, page by page. The next page is read while the caller handles this one. */
export async function* pagesOf(storage: Storage, range: ScanRange): AsyncGenerator<readonly Row[], void, undefined> {
  yield* pagesOfScan(storage.scan(range))
}

/** Like `pagesOf`, for an open scan, which it closes at the end. */
export async function* pagesOfScan(scan: Scan): AsyncGenerator<readonly Row[], void, undefined> {
  let ahead = scan.next(rowsAtATime)
  try {
    for (let page = await ahead; page.length > 0; page = await ahead) {
      ahead = scan.next(rowsAtATime)
      // An error is thrown when `ahead` is awaited. The caller may stop before that: then the error is ignored.
      ahead.catch(() => undefined)
      yield page
    }
  } finally {
    await ahead.catch(() => undefined)
    await scan.close()
  }
}

/** The first row of a range; the last one if the range is reversed. */
export async function firstRowOf(storage: Storage, range: ScanRange): Promise<Row | undefined> {
  const scan = storage.scan(range)
  try {
    const [row] = await scan.next(1)
    return row
  } finally {
    await scan.close()
  }
}
