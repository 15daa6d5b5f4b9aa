import type { ComponentChildren } from 'preact'
import { useEffect, useId } from 'preact/hooks'
import { Button } from '#dashboard/components/button'
import { problemText } from '#dashboard/components/problem-text'
import type { CallState } from '#dashboard/components/use-call'

export interface PageProps {
  readonly title: string
  /** Next to the title: a status, a badge. */
  readonly beside?: ComponentChildren
  readonly actions?: ComponentChildren
  /** Fills the window; its content scrolls. */
  readonly isFilling?: boolean | undefined
  readonly children: ComponentChildren
}

/** A page: its heading, which is also the window's title, and its content. */
export function Page({ title, beside, actions, isFilling, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Device Data Backend`
  }, [title])
  return (
    <div class={isFilling ? 'page filling' : 'page'}>
      <header class="page-head">
        <h1 tabIndex={-1}>{title}</h1>
        {beside}
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </div>
  )
}

export interface SectionProps {
  readonly title: ComponentChildren
  readonly beside?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

export function Section({ title, beside, actions, children }: SectionProps) {
  const id = useId()
  return (
    <section class="section" aria-labelledby={id}>
      <header>
        <h2 id={id} tabIndex={-1}>
          {title}
        </h2>
        {beside}
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </section>
  )
}

/** Shown while the content is not known yet. */
export function Loading({ text = 'Loading…' }: { readonly text?: string }) {
  return (
    <p class="loading" role="status">
      <span class="spinner" aria-hidden="true" /> {text}
    </p>
  )
}

/** Shows a call: loading, its failure with a button to try again, or its value. */
export function CallResult<Value>({
  call: { value, problem, isLoading, refresh },
  children,
}: {
  readonly call: CallState<Value>
  readonly children: (value: Value) => ComponentChildren
}) {
  return (
    <>
      {problem !== undefined && (
        <div class="notice bad" role="alert">
          <p>{problemText(problem)}</p>
          <Button onPress={refresh}>Try again</Button>
        </div>
      )}
      {value === undefined && isLoading && <Loading />}
      {value !== undefined && children(value)}
    </>
  )
}
