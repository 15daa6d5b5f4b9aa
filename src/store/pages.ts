import type { Row, Scan, ScanRange, Storage } from '#runtime/storage'

/** Rows asked for at a time. Where they are big, the storage ends a page sooner. */
const rowsAtATime = 512

/** What lies in a range, in order, page by page. The next page is read while this one is worked on. */
export async function* pagesOf(storage: Storage, range: ScanRange): AsyncGenerator<readonly Row[], void, undefined> {
  yield* pagesOfScan(storage.scan(range))
}

/** The same of a scan that was begun; it is closed behind them. */
export async function* pagesOfScan(scan: Scan): AsyncGenerator<readonly Row[], void, undefined> {
  let ahead = scan.next(rowsAtATime)
  try {
    for (let page = await ahead; page.length > 0; page = await ahead) {
      ahead = scan.next(rowsAtATime)
      // Heard of when its turn comes, which may never be.
      ahead.catch(() => undefined)
      yield page
    }
  } finally {
    await ahead.catch(() => undefined)
    await scan.close()
  }
}

/** The first row of a range; the last one where it is reversed. */
export async function firstRowOf(storage: Storage, range: ScanRange): Promise<Row | undefined> {
  const scan = storage.scan(range)
  try {
    const [row] = await scan.next(1)
    return row
  } finally {
    await scan.close()
  }
}
