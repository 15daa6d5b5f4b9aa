import type { ComponentChildren } from 'preact'
import { useEffect, useId } from 'preact/hooks'
import { Button } from '#dashboard/parts/button'
import { problemText } from '#dashboard/parts/problem-text'
import type { Called } from '#dashboard/parts/use-call'

export interface PageProps {
  readonly title: string
  /** Beside the title: a status, a badge. */
  readonly beside?: ComponentChildren
  /** What can be done here. */
  readonly actions?: ComponentChildren
  /** It fills the window, and what is in it scrolls by itself. */
  readonly isFilling?: boolean | undefined
  readonly children: ComponentChildren
}

/** A page: its heading, which is also the window's title, and what is in it. */
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

/** Stands where it is not known yet what is there. */
export function Reading({ what }: { readonly what: string }) {
  return (
    <p class="loading" role="status">
      <span class="spinner" aria-hidden="true" /> Reading {what}…
    </p>
  )
}

/** Something that is being asked for: nothing yet, why there is nothing and another try, or what was answered. */
export function Answered<Value>({
  called,
  children,
}: {
  readonly called: Called<Value>
  readonly children: (value: Value) => ComponentChildren
}) {
  const { value, problem, isLoading, again } = called
  return (
    <>
      {problem !== undefined && (
        <div class="notice bad" role="alert">
          <p>{problemText(problem)}</p>
          <Button onPress={again}>Try again</Button>
        </div>
      )}
      {value === undefined && isLoading && (
        <p class="loading" role="status">
          <span class="spinner" aria-hidden="true" /> Loading…
        </p>
      )}
      {value !== undefined && children(value)}
    </>
  )
}
