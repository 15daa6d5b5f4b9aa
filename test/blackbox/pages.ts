interface Page {
  readonly headers: Headers
}

/** The path of the page after this one; undefined for the last page. */
export function nextPage({ headers }: Page): string | undefined {
  return /^<\/api\/v1([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
}

/** The page at this path, and all pages after it. */
export async function pagesOf<Of extends Page>(get: (path: string) => Promise<Of>, path: string): Promise<Of[]> {
  const page = await get(path)
  const next = nextPage(page)
  return next === undefined ? [page] : [page, ...(await pagesOf(get, next))]
}
